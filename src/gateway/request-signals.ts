import { Counter, type Registry } from 'prom-client';
import { ERROR_STATUS, type ErrorCode } from '../platform/errors.ts';
import { RateLimit } from '../platform/limits/rate-limit.ts';
import type { RequestContext } from './context.ts';
import type { OperationLog, RanOperation } from './graphql/public-error.ts';

interface RequestSignalsOptions {
  readonly log: { warn(fields: object, text: string): void; error(fields: object, text: string): void };
  /** An operation that takes longer is a line of the log. `null`: no line. */
  readonly slowMs: number | null;
}

/** Lines about one operation: a slow database makes every operation slow. */
const SLOW_LINES = { perSecond: 0.1, burst: 5 };

/**
 * What operations took and why they failed, for the metrics and the log. Operations are named by their first root
 * field, of which the schema has a few hundred: callers cannot make up names.
 */
export class RequestSignals {
  readonly graphql: OperationLog;
  readonly rest: OperationLog;
  readonly #options: RequestSignalsOptions;
  readonly #metrics: readonly Counter[];
  readonly #slowLines = new RateLimit(SLOW_LINES);

  constructor(options: RequestSignalsOptions) {
    this.#options = options;
    const registers: Registry[] = [];
    const operations = new Counter({
      name: 'brokergraph_graphql_operations_total',
      help: 'Operations of the graph that ran, without those of REST, by their first root field',
      labelNames: ['operation'],
      registers,
    });
    const seconds = new Counter({
      name: 'brokergraph_graphql_operation_seconds_total',
      help: 'Time that these operations took, with waiting for brokers and the database',
      labelNames: ['operation'],
      registers,
    });
    const errors = errorCounter('graphql', 'Errors in responses of the graph');
    const restErrors = errorCounter('rest', 'Responses of REST with an error');
    this.#metrics = [operations, seconds, errors, restErrors];
    const error = (fields: object, text: string) => options.log.error(fields, text);
    this.graphql = {
      error,
      count: (code) => errors.inc({ code }),
      ran: (operation, ms, context) => {
        operations.inc({ operation: operation.name });
        seconds.inc({ operation: operation.name }, ms / 1_000);
        this.#noteSlow(operation, ms, context);
      },
    };
    this.rest = {
      error,
      count: (code) => restErrors.inc({ code }),
      ran: (operation, ms, context) => this.#noteSlow(operation, ms, context),
    };
  }

  register(registry: Registry): void {
    for (const metric of this.#metrics) registry.registerMetric(metric);
  }

  #noteSlow({ name, kind }: RanOperation, ms: number, { viewer, via, address, requestId }: RequestContext): void {
    const { slowMs, log } = this.#options;
    if (slowMs === null || ms < slowMs || this.#slowLines.take(name) > 0) return;
    const caller = viewer && { kind: viewer.kind, id: viewer.id, name: viewer.name };
    log.warn({ operation: name, kind, ms: Math.round(ms), caller, address, via, requestId }, 'slow operation');
  }
}

/** A series for each code, so that the first error is an increase. */
function errorCounter(kind: 'graphql' | 'rest', help: string): Counter {
  const name = `brokergraph_${kind}_errors_total`;
  const counter = new Counter({ name, help: `${help}, by code`, labelNames: ['code'], registers: [] });
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) counter.inc({ code }, 0);
  return counter;
}
