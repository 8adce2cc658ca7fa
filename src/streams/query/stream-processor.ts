/**
 * A compiled query and what it remembers: the aggregates of the current bucket, or since it was made. One for each run of a stream.
 */
export interface StreamProcessor {
  /**
   * One message after the other, in the order of their arrival; `now` in epoch milliseconds. Never throws.
   */
  process(payload: Buffer, now: number): Processed;
}

/**
 * PASS: what leaves is the payload itself (`text` null) or JSON text. FILTERED: a selected path is missing, or `where` is not met.
 * FAILED: not JSON, or an aggregate of something that is no number; nothing was counted in. Reasons hold nothing of a payload.
 */
export type Processed =
  | { readonly outcome: 'PASS'; readonly text: string | null }
  | { readonly outcome: 'FILTERED'; readonly reason: string }
  | { readonly outcome: 'FAILED'; readonly reason: string };

/** What becomes of a message: of the value in it, its text, and the time in epoch milliseconds. */
export type Judge = (value: unknown, text: string, now: number) => Processed;

/** To be made once for each reason: all messages of a stream may end so. */
export const filtered = (reason: string): Processed => Object.freeze({ outcome: 'FILTERED', reason });

export const failed = (reason: string): Processed => Object.freeze({ outcome: 'FAILED', reason });
