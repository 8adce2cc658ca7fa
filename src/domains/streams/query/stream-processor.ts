/**
 * A compiled query and what it remembers: the aggregates of the current bucket, or since it was made. One for each run of a stream.
 */
export interface StreamProcessor {
  /**
   * Processes one message. Messages are given in the order of their arrival; `now` is in epoch milliseconds. A message that would be
   * published with more than `maxOutput` characters fails; default: MAX_OUTPUT. Never throws.
   */
  process(payload: Buffer, now: number, maxOutput?: number): Processed;
}

/** Characters. A query may write a part of a large payload many times over. */
export const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * PASS: what leaves is the payload itself (`text` null) or JSON text. FILTERED: a selected path is missing, or `where` is not met.
 * FAILED: not JSON, or an aggregate of something that is no number; nothing was counted in. Reasons hold nothing of a payload.
 */
export type Processed =
  | { readonly outcome: 'PASS'; readonly text: string | null }
  | { readonly outcome: 'FILTERED'; readonly reason: string }
  | {
      readonly outcome: 'FAILED';
      readonly reason: string;
      /** Whether the output would have had more than `maxOutput` characters. */
      readonly isTooLong?: boolean;
    };

/** Decides on a message by the value in it, its text, the time in epoch milliseconds and the maximum number of characters to publish. */
export type Judge = (value: unknown, text: string, now: number, maxOutput: number) => Processed;

/** To be made once for each reason: all messages of a stream may end so. */
export const filtered = (reason: string): Processed => Object.freeze({ outcome: 'FILTERED', reason });

export const tooLong = (maxOutput: number): Processed => ({
  outcome: 'FAILED',
  reason: `more than ${maxOutput} characters would be published`,
  isTooLong: true,
});

export const failed = (reason: string): Processed => Object.freeze({ outcome: 'FAILED', reason });
