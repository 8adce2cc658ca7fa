import { isDeeper, MAX_WRITTEN_LEVELS, TOO_DEEP_TO_WRITE } from '../../../platform/text/json-depth.ts';
import type { StreamExpression } from '../model/stream-query.ts';
import type { QueryMessage } from '../query/query-message.ts';
import { failed, filtered, type Judge, type Processed, tooLong, UNCHANGED } from '../query/stream-processor.ts';
import { codeOf, type ExpressionInput, parseExpression, placeOf, problemOf } from './cel.ts';
import { readValue, writeValue } from './expression-value.ts';
import { StepMeter, TooManySteps } from './step-meter.ts';

const TOO_DEEP = failed(`the payload ${TOO_DEEP_TO_WRITE}`);
const NOT_MET = filtered('the filter is false');
const NO_CONDITION = failed('the filter is neither true nor false');
/** What a message lacks. The text of the error may contain a key that is a value of the message. */
const MISSING: ReadonlySet<string> = new Set(['no_such_key', 'index_out_of_bounds']);
/** Errors whose text names types only. */
const OPEN: ReadonlySet<string> = new Set([
  'no_such_overload',
  'no_matching_overload',
  'invalid_logical_operand',
  'invalid_condition_type',
  'invalid_comprehension_range',
  'division_by_zero',
]);

/** Compiles a checked expression. The filter decides first; without output the payload is published unchanged. */
export function compileExpression({ filter, output }: StreamExpression): Judge {
  const isMet = filter === undefined ? null : compilePart(filter, 'the filter');
  const result = output === undefined ? null : compilePart(output, 'the output');
  return (message, now, maxOutput) => {
    if (isDeeper(message.root, MAX_WRITTEN_LEVELS)) return TOO_DEEP;
    const input = inputOf(message, now);
    const unmet = isMet?.(input, (value) => (value === true ? null : value === false ? NOT_MET : NO_CONDITION)) ?? null;
    if (unmet !== null) return unmet;
    const passed = result?.(input, (value, meter) => {
      const text = writeValue(value, meter);
      return text.length > maxOutput ? tooLong(maxOutput) : { outcome: 'PASS', text };
    });
    return passed ?? UNCHANGED;
  };
}

type Use = (value: unknown, meter: StepMeter) => Processed | null;

function compilePart(source: string, name: string): (input: ExpressionInput, use: Use) => Processed | null {
  const { ast, evaluate } = parseExpression(source);
  const meter = new StepMeter(ast);
  return (input, use) => {
    meter.start();
    try {
      return use(evaluate(input), meter);
    } catch (error) {
      return outcomeOf(error, name);
    }
  };
}

function outcomeOf(error: unknown, name: string): Processed {
  if (error instanceof TooManySteps || error instanceof RangeError) return failed(`${name} ${error.message}`);
  const code = codeOf(error);
  if (MISSING.has(code)) return filtered(`${name}: a value is missing${placeOf(error)}`);
  return failed(`${name}: ${OPEN.has(code) ? problemOf(error) : `it cannot be evaluated${placeOf(error)}`}`);
}

/** Errors: RangeError, as `exactRoot`. */
function inputOf({ root, exactRoot, text, topic, qos }: QueryMessage, now: number): ExpressionInput {
  return {
    payload: exactRoot === root ? root : readValue(exactRoot),
    text,
    topic,
    levels: topic.split('/'),
    qos: BigInt(qos),
    time: new Date(now),
  };
}
