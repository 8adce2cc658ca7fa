import type { HistoryGapReason } from './history-module.ts';

/** Whether the history is written, for users and metrics. Reads go on while it is not. */
export interface HistoryState {
  /** Why nothing is written now, in words; `null` if it is. */
  readonly problem: string | null;
  readonly code: HistoryGapReason | null;
  /** Size of the stored history, at the last check; `null` before it. */
  readonly bytes: number | null;
  /** Epoch milliseconds of the oldest rows, or earlier, at the last check; `null` before it and without rows. */
  readonly oldest: number | null;
}
