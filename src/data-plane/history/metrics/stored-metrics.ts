import type { HistoryReader, HistoryRow, HistoryTable } from '../model/history-module.ts';
import { type CounterState, stateBytes, stateFrom } from './counter-state.ts';
import type { Measured } from './measured.ts';
import { bytesOf, measuredFrom } from './measured-bytes.ts';
import { LEVELS, type Level } from './metric.ts';

export const METRIC_TABLES: readonly HistoryTable[] = LEVELS.map(({ table, keepMs, partitionMs }) => ({
  name: table,
  columns: { broker: 'TEXT', covered: 'INTEGER', data: 'BYTES', state: 'BYTES' },
  key: ['broker', 'at'],
  indexes: [['at']],
  partitionMs,
  replaces: true,
  ...(keepMs !== null && { keepMs }),
}));

/** The coarsest rows do without: after two days a broker is compared with nothing. */
const hasState = ({ keepMs }: Level): boolean => keepMs !== null;

export interface StoredMeasured {
  readonly broker: string;
  /** Of the finest level the end of the measured time, of the others the beginning of the step. */
  readonly at: number;
  /** Milliseconds. */
  readonly covered: number;
  readonly measured: Measured;
  readonly state: Uint8Array | null;
}

interface Row extends Omit<StoredMeasured, 'measured'> {
  readonly data: Uint8Array;
}

export const rowOf = (
  level: Level,
  { broker, at, covered, measured, state }: Omit<StoredMeasured, 'state'> & { state: CounterState | Uint8Array | null },
): HistoryRow => {
  const bytes = state === null || state instanceof Uint8Array ? state : stateBytes(state);
  return [at, broker, Math.round(covered), bytesOf(measured, Math.round(covered)), hasState(level) ? bytes : null];
};

/** Of one broker in one level. */
interface StoredRange {
  readonly broker: string;
  /** Inclusive. */
  readonly from: number;
}

/** The rows of brokers from their times on, before `to`, in order of their times. One statement. */
export async function readMeasured(
  db: HistoryReader,
  { table }: Level,
  ranges: readonly StoredRange[],
  to: number,
): Promise<StoredMeasured[]> {
  if (ranges.length === 0) return [];
  const conditions = ranges.map((_range, nth) => `(broker = $${2 * nth + 2} AND at >= $${2 * nth + 3} AND at < $1)`);
  const rows = await db.all<Row>(
    `SELECT broker, at, covered, data, NULL AS state FROM history.${table} WHERE ${conditions.join(' OR ')} ORDER BY at`,
    [to, ...ranges.flatMap(({ broker, from }) => [broker, from])],
  );
  return rows.map(stored);
}

/** The rows of all brokers in a time, in order of their times. */
export async function readAll(
  db: HistoryReader,
  { table }: Level,
  from: number,
  to: number,
): Promise<StoredMeasured[]> {
  const rows = await db.all<Row>(
    `SELECT broker, at, covered, data, state FROM history.${table} WHERE at >= $1 AND at < $2 ORDER BY at`,
    [from, to],
  );
  return rows.map(stored);
}

const stored = ({ data, ...row }: Row): StoredMeasured => ({ ...row, measured: measuredFrom(data, row.covered) });

/** The counters at the newest row of a broker; `null` if there is none. */
export async function readState(db: HistoryReader, broker: string): Promise<CounterState | null> {
  const states: CounterState[] = [];
  for (const level of LEVELS.filter(hasState)) {
    const [row] = await db.all<{ state: Uint8Array | null }>(
      `SELECT state FROM history.${level.table} WHERE broker = $1 ORDER BY at DESC LIMIT 1`,
      [broker],
    );
    if (row?.state != null) states.push(stateFrom(row.state));
  }
  return states.reduce<CounterState | null>(
    (newest, one) => (newest !== null && newest.at > one.at ? newest : one),
    null,
  );
}

/** Whether a sample of a broker is in the finest level. */
export async function isStored(db: HistoryReader, broker: string, at: number): Promise<boolean> {
  const sql = `SELECT at FROM history.${LEVELS[0].table} WHERE broker = $1 AND at = $2`;
  return (await db.all(sql, [broker, at])).length > 0;
}

/** The time of the first row from a time on, before `to`; `null` if there is none. */
export async function firstTime(db: HistoryReader, { table }: Level, from: number, to: number): Promise<number | null> {
  const [row] = await db.all<{ at: number }>(
    `SELECT at FROM history.${table} WHERE at >= $1 AND at < $2 ORDER BY at LIMIT 1`,
    [from, to],
  );
  return row?.at ?? null;
}

/** The beginning of the newest step of a level; `null` if there is none. */
export async function newestStep(db: HistoryReader, { table }: Level): Promise<number | null> {
  const [row] = await db.all<{ at: number | null }>(`SELECT max(at) AS at FROM history.${table}`);
  return row?.at ?? null;
}
