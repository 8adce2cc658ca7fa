import { LRUCache } from 'lru-cache';
import type { HistoryModule, HistoryQueries, HistoryReader, HistoryRow } from '../model/history-module.ts';
import { type CounterState, changeOf, stateOf } from './counter-state.ts';
import { MeasuredSum } from './measured.ts';
import { LEVELS, type Level, type MetricSample } from './metric.ts';
import { type GridRequest, readGrids } from './read-grids.ts';
import {
  firstTime,
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
/** Steps that are rolled up again, because samples may have come late. */
const AGAIN = 3;
/** Steps whose rows are in memory at the same time. */
const PORTION_STEPS = 1;

/**
 * The metrics of brokers. A sample becomes a row of the finest level, which is compared with the sample before it; the
 * rows of each level become those of the next one when a step of that is complete.
 */
export function metricsModule(): HistoryModule<MetricSample, MetricQueries> {
  const states = new LRUCache<string, { readonly state: CounterState | null }>({ max: MAX_STATES });
  const stateBefore = async (db: HistoryReader, brokerId: string): Promise<CounterState | null> =>
    (states.get(brokerId) ?? { state: await readState(db, brokerId) }).state;
  return {
    name: METRICS_MODULE,
    tables: METRIC_TABLES,
    rowsOf: async (samples, db) => {
      const rows: HistoryRow[] = [];
      for (const sample of samples) {
        const { brokerId: broker, at } = sample;
        const before = await stateBefore(db, broker);
        // A batch that comes again, or a clock that was set back.
        if (before !== null && at <= before.at && before.at - at < LEVELS[0].keepMs) continue;
        const { coveredMs: covered, measured } = changeOf(before, sample);
        const state = merged(before, stateOf(sample));
        states.set(broker, { state });
        rows.push(rowOf(LEVELS[0], { broker, at, covered, measured, state }));
      }
      return new Map([[LEVELS[0].table, rows]]);
    },
    queries: metricQueries,
    forget: () => states.clear(),
    rollUps: LEVELS.slice(1).map((level, nth) => async (db: HistoryReader, now: number) => {
      const finer = LEVELS[nth];
      return new Map([[level.table, finer === undefined ? [] : await rolledUp(db, finer, level, now)]]);
    }),
  };
}

/** A counter that is unknown now is compared with its last known value. */
const merged = (before: CounterState | null, { counters, ...state }: CounterState): CounterState => ({
  ...state,
  counters: counters.map((value, nth) => value ?? before?.counters[nth] ?? null),
});

/** The rows of a level from those of the finer one, also for steps that were rolled up without late samples. */
async function rolledUp(db: HistoryReader, finer: Level, level: Level, now: number): Promise<HistoryRow[]> {
  const { stepMs } = level;
  // A row of the finest level has the time of its end, which belongs to the step before.
  const shift = finer === LEVELS[0] ? 1 : 0;
  const stepOf = (time: number) => Math.floor((time - shift) / stepMs) * stepMs;
  const newest = await newestStep(db, level);
  const to = stepOf(now - GRACE_MS);
  const rows: HistoryRow[] = [];
  for (let from = newest === null ? 0 : newest - (AGAIN - 1) * stepMs; from < to; from += PORTION_STEPS * stepMs) {
    const first = await firstTime(db, finer, from + shift, to + shift);
    if (first === null) break;
    from = stepOf(first);
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
