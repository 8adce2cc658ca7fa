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
 * FAILED: not JSON, or an aggregate of something that is no number; nothing was counted in.
 */
export type Processed =
  | { readonly outcome: 'PASS'; readonly text: string | null }
  | { readonly outcome: 'FILTERED' }
  | { readonly outcome: 'FAILED'; readonly reason: string };
