import type { StreamMessage } from '../model/stream-session.ts';
import type { QueryMessage } from './query-message.ts';

export type ReceivedMessage = Pick<StreamMessage, 'topic' | 'payload' | 'qos'>;

/** A compiled query with its aggregates. One per run of a stream. */
export interface StreamProcessor {
  /**
   * Processes one message; messages must be passed in order of arrival. `now` is in epoch milliseconds. A message fails
   * if more than `maxOutput` characters would be published. Default: MAX_OUTPUT. Never throws.
   */
  process(message: ReceivedMessage, now: number, maxOutput?: number): Processed;
}

/** Maximum output in characters. A query may write a part of a large payload many times. */
export const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * PASS: the payload itself (`text` is `null`) or JSON text is published. FILTERED: a selected path is missing, or
 * `where` is not met. FAILED: the payload is not JSON, or a value to aggregate is not a number; aggregates did not
 * change. Reasons contain no part of the payload.
 */
export type Processed =
  | { readonly outcome: 'PASS'; readonly text: string | null }
  | { readonly outcome: 'FILTERED'; readonly reason: string }
  | {
      readonly outcome: 'FAILED';
      readonly reason: string;
      readonly isTooLong?: boolean;
    };

/** Decides on a message at the given epoch milliseconds, with the maximum number of characters. */
export type Judge = (message: QueryMessage, now: number, maxOutput: number) => Processed;

/** The payload itself is published. */
export const UNCHANGED: Processed = Object.freeze({ outcome: 'PASS', text: null });

/** Created once per reason, because every message of a stream may have this result. */
export const filtered = (reason: string): Processed => Object.freeze({ outcome: 'FILTERED', reason });

export const tooLong = (maxOutput: number): Processed => ({
  outcome: 'FAILED',
  reason: `more than ${maxOutput} characters would be published`,
  isTooLong: true,
});

export const failed = (reason: string): Processed => Object.freeze({ outcome: 'FAILED', reason });
