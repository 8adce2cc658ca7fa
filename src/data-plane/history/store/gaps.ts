import type { HistoryGap, HistoryGapReason, HistoryReader, HistoryRow, HistoryTable } from '../model/history-module.ts';

const DAY_MS = 86_400_000;
const MAX_GAPS = 1_000;

/** What did not get into the history, for all modules. */
export const GAPS: HistoryTable = {
  name: 'gap',
  columns: { module: 'TEXT', until: 'TIME', lost: 'INTEGER', reason: 'TEXT' },
  partitionMs: 7 * DAY_MS,
};

export const gapRow = (module: string, { from, to, lost, reason }: HistoryGap): HistoryRow => [
  from,
  module,
  to,
  lost,
  reason,
];

/** The gaps of a module that touch a time, the newest first, at most MAX_GAPS. */
export async function gapsOf(db: HistoryReader, module: string, from: number, to: number): Promise<HistoryGap[]> {
  const rows = await db.all<{ at: number; until: number; lost: number; reason: HistoryGapReason }>(
    `SELECT at, until, lost, reason FROM history.gap WHERE module = $1 AND until >= $2 AND at <= $3
     ORDER BY at DESC LIMIT ${MAX_GAPS}`,
    [module, from, to],
  );
  return rows.map(({ at, until, lost, reason }) => ({ from: at, to: until, lost, reason }));
}
