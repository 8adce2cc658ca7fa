import { LRUCache } from 'lru-cache';
import type { HistoryModule, HistoryQueries, HistoryReader, HistoryRow } from '../model/history-module.ts';
import { type CounterState, changeOf, stateOf } from './counter-state.ts';
import { MeasuredSum } from './measured.ts';
import { LEVELS, type Level, type MetricSample } from './metric.ts';
import { type GridRequest, readGrids } from './read-grids.ts';
import {
  firstTime,
  isStored,
  METRIC_TABLES,
  newestStep,
  readAll,
  readState,
  rowOf,
  type StoredMeasured,
} from './stored-metrics.ts';

export const METRICS_MODULE = 'metrics';

const metricQueries = {
  grids: (db: HistoryReader, request: GridRequest) => readGrids(db, request),
} satisfies HistoryQueries;

export type MetricQueries = typeof metricQueries;

/** Brokers whose last counters are known without a query. */
const MAX_STATES = 20_000;
/** After the end of a step: its last samples may wait to be written. */
const GRACE_MS = 15_000;
/** Steps that are rolled up again, because another process may have written samples of them late. */
const AGAIN = 3;
/** A longer time without a sample: another process may have stored some meanwhile. */
const OWN_MS = 1.5 * LEVELS[0].stepMs;
/** Steps whose rows are in memory at the same time. */
const PORTION_STEPS = 1;

/**
 * The metrics of brokers. A sample becomes a row of the finest level, which is compared with the sample before it; the
 * rows of each level become those of the next one when a step of that is complete.
 */
export function metricsModule(): HistoryModule<MetricSample, MetricQueries> {
  const states = new LRUCache<string, CounterState>({ max: MAX_STATES });
  /** `null`: unknown; 'STORED': the sample comes again. */
  const stateBefore = async (
    db: HistoryReader,
    { brokerId, at }: MetricSample,
  ): Promise<CounterState | 'STORED' | null> => {
    const known = states.get(brokerId) ?? null;
    if (known !== null && known.at < at && at - known.at <= OWN_MS) return known;
    // Earlier samples of the same batch are not stored yet.
    const stored = await readState(db, brokerId);
    const newest = known !== null && (stored === null || known.at > stored.at) ? known : stored;
    if (newest === null || newest.at < at) return newest;
    // The clock was set back: which of the stored counters are the last ones is not known.
    return (await isStored(db, brokerId, at)) ? 'STORED' : known;
  };
  /** For each level: the earliest row that this process has written since it rolled the level up, or later. */
  const changedSince = LEVELS.map(() => Number.POSITIVE_INFINITY);
  const changed = (nth: number, at: number) => {
    changedSince[nth] = Math.min(changedSince[nth] ?? at, at);
  };
  return {
    name: METRICS_MODULE,
    tables: METRIC_TABLES,
    rowsOf: async (samples, db) => {
      const rows: HistoryRow[] = [];
      const keys = new Set<string>();
      for (const sample of samples) {
        const { brokerId: broker, at } = sample;
        // After the clock was set back, a batch may have two samples of one millisecond.
        const key = `${broker} ${at}`;
        if (keys.has(key)) continue;
        keys.add(key);
        const before = await stateBefore(db, sample);
        if (before === 'STORED') continue;
        const { coveredMs: covered, measured } = changeOf(before, sample);
        const state = merged(before, stateOf(sample));
        states.set(broker, state);
        changed(0, at);
        rows.push(rowOf(LEVELS[0], { broker, at, covered, measured, state }));
      }
      return new Map([[LEVELS[0].table, rows]]);
    },
    queries: metricQueries,
    forget: () => states.clear(),
    rollUps: LEVELS.slice(1).map((level, nth) => async (db: HistoryReader, now: number, store) => {
      const finer = LEVELS[nth] ?? LEVELS[0];
      const since = changedSince[nth] ?? now;
      changedSince[nth] = now - GRACE_MS;
      try {
        const rows = await rolledUp(db, { finer, level, since, now });
        await store(new Map([[level.table, rows]]));
        for (const [at] of rows) changed(nth + 1, Number(at));
      } catch (error) {
        changed(nth, since === Number.POSITIVE_INFINITY ? 0 : since);
        throw error;
      }
    }),
  };
}

/** A counter that is unknown now is compared with its last known value. */
const merged = (before: CounterState | null, { counters, ...state }: CounterState): CounterState => ({
  ...state,
  counters: counters.map((value, nth) => value ?? before?.counters[nth] ?? null),
});

interface RollUp {
  readonly finer: Level;
  readonly level: Level;
  /** The earliest row of the finer level that this process has not rolled up yet. */
  readonly since: number;
  readonly now: number;
}

/**
 * The rows of a level from those of the finer one, also for steps that were rolled up without late samples. The clocks
 * of processes differ, and a clock may be set back: the newest step may be later than now, or than rows that follow.
 */
async function rolledUp(db: HistoryReader, { finer, level, since, now }: RollUp): Promise<HistoryRow[]> {
  const { stepMs } = level;
  // A row of the finest level has the time of its end, which belongs to the step before.
  const shift = finer === LEVELS[0] ? 1 : 0;
  const stepOf = (time: number) => Math.floor((time - shift) / stepMs) * stepMs;
  const newest = await newestStep(db, level);
  const to = stepOf(now - GRACE_MS);
  const rows: HistoryRow[] = [];
  const again = newest === null ? 0 : newest - (AGAIN - 1) * stepMs;
  // What was written before this process started, by a clock that was set back since.
  const first = again > to && since === Number.POSITIVE_INFINITY ? 0 : Math.min(again, stepOf(since));
  for (let from = first; from < to; from += PORTION_STEPS * stepMs) {
    const next = await firstTime(db, finer, from + shift, to + shift);
    if (next === null) break;
    from = stepOf(next);
    const stored = await readAll(db, finer, from + shift, Math.min(to, from + PORTION_STEPS * stepMs) + shift);
    rows.push(...joined(stored, level, stepOf));
  }
  return rows;
}

function joined(stored: readonly StoredMeasured[], level: Level, stepOf: (time: number) => number): HistoryRow[] {
  const steps = new Map<string, { broker: string; at: number; sum: MeasuredSum; state: Uint8Array | null }>();
  for (const { broker, at, measured, covered, state } of stored) {
    const key = `${broker} ${stepOf(at)}`;
    const step = steps.get(key) ?? { broker, at: stepOf(at), sum: new MeasuredSum(), state: null };
    steps.set(key, step);
    step.sum.add(measured, covered);
    step.state = state;
  }
  return Array.from(steps.values(), ({ broker, at, sum, state }) =>
    rowOf(level, { broker, at, covered: sum.coveredMs, measured: sum.result(), state }),
  );
}
