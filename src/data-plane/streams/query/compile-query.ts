import { isUtf8 } from 'node:buffer';
import { invalid } from '../../../platform/errors.ts';
import { isReadableMessage, TOO_MANY_VALUES } from '../../../platform/text/json-bounds.ts';
import { compileExpression } from '../expression/compile-expression.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import { compileSelection } from './compile-selection.ts';
import { compileWhere } from './compile-where.ts';
import { queryIssues } from './query-issues.ts';
import { QueryMessage } from './query-message.ts';
import {
  failed,
  type Judge,
  MAX_OUTPUT,
  type Processed,
  type ReceivedMessage,
  type StreamProcessor,
  UNCHANGED,
} from './stream-processor.ts';

/**
 * Compiles a query to functions, once for each run of a stream.
 *
 * A message passes these steps and stops at the first that fails: the payload is JSON; all selected paths exist;
 * `where` on a value of the message is met; every value can be aggregated and written; the aggregates are updated;
 * `where` on an aggregate is met. Only a message that reaches the update changes the aggregates. Without items in
 * `select` the payload is published unchanged. An empty query passes every payload, JSON or not.
 *
 * Selected numbers are written as they were sent; conditions and aggregates use their exact values.
 * Errors: INVALID with the issues of `queryIssues`.
 */
export function compileQuery(query: StreamQuery): StreamProcessor {
  const issues = queryIssues(query);
  if (issues.length > 0) throw invalid(issues);
  const { select = [], where: [condition] = [], expression } = query;
  if (expression !== undefined) return new JsonProcessor(compileExpression(expression));
  if (select.length > 0) return new JsonProcessor(compileSelection(select, condition));
  if (condition === undefined) return { process: () => UNCHANGED };
  const where = compileWhere(condition);
  return new JsonProcessor((message) => where(message) ?? UNCHANGED);
}

// Not the message of JSON.parse, because it quotes the payload.
const EMPTY = failed('the payload is empty');
const NOT_UTF8 = failed('the payload is not UTF-8');
const NOT_JSON = failed('the payload is not JSON');
const TOO_LARGE = failed(`the payload ${TOO_MANY_VALUES}`);

class JsonProcessor implements StreamProcessor {
  readonly #judge: Judge;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  process({ payload, topic, qos }: ReceivedMessage, now: number, maxOutput: number = MAX_OUTPUT): Processed {
    if (!isReadableMessage(payload)) return TOO_LARGE;
    const text = payload.toString();
    // Invalid UTF-8 is decoded to U+FFFD. Only texts with that character need the check, which rules out a sent U+FFFD.
    if (text.includes('\uFFFD') && !isUtf8(payload)) return NOT_UTF8;
    let message: QueryMessage;
    try {
      message = new QueryMessage(text, topic, qos);
    } catch {
      return text === '' ? EMPTY : NOT_JSON;
    }
    return this.#judge(message, now, maxOutput);
  }
}
