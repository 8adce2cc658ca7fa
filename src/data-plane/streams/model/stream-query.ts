import type { WrittenNumber } from '../../../platform/text/exact-number.ts';

/**
 * The query of a stream as written by the user. `select` picks and computes the output, `where` filters messages.
 * `expression` does both, in their place. An empty query passes every message unchanged.
 */
export interface StreamQuery {
  readonly select?: readonly SelectItem[];
  /** At most one condition. */
  readonly where?: readonly Condition[];
  readonly expression?: StreamExpression;
}

/** Expressions in the Common Expression Language (CEL), at least one. */
export interface StreamExpression {
  /** Messages for which it is false are filtered out. Default: none. */
  readonly filter?: string;
  /** What is published: a text as it is, any other value as JSON. Default: the payload. */
  readonly output?: string;
}

export interface SelectItem {
  /** A path, or `timestamp`, `windowstart`, `windowend`; `""`, `"*"` or absent for `count`. */
  readonly source?: string;
  /** A path; `""`: computed but not written. Optional for `time_bucket` only. */
  readonly target?: string;
  readonly alias?: string;
  readonly function?: SelectFunction;
  /** Seconds. Only for `time_bucket`. */
  readonly intervalsize?: number;
  readonly intervaloffset?: number;
}

export const SELECT_FUNCTIONS = ['min', 'max', 'sum', 'count', 'time_bucket'] as const;
export type SelectFunction = (typeof SELECT_FUNCTIONS)[number];

export const OPERATORS = ['==', '!=', '>', '<', '>=', '<='] as const;
export type Operator = (typeof OPERATORS)[number];

export interface Condition {
  readonly operator: Operator;
  /** A path, or an alias of `select`. */
  readonly left: string;
  readonly right: string | number | boolean | WrittenNumber;
}
