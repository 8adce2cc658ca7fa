import type { HistoryHandle } from '../../../data-plane/history/hosting/history-thread.ts';
import type { MetricSample } from '../../../data-plane/history/metrics/metric.ts';
import type { MetricGrid } from '../../../data-plane/history/metrics/metric-grid.ts';
import type { MetricQueries } from '../../../data-plane/history/metrics/metrics-module.ts';
import { invalid } from '../../../platform/errors.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { type AddedMetrics, addMetrics } from './added-metrics.ts';

interface MetricsRange {
  /** Default: an hour before `to`. */
  readonly from?: Date | null | undefined;
  /** Default: now. */
  readonly to?: Date | null | undefined;
  readonly maxPoints: number;
}

interface Batch {
  readonly brokers: Set<string>;
  readonly grids: Promise<ReadonlyMap<string, MetricGrid>>;
}

export const MAX_POINTS = 2_000;
const HOUR_MS = 3_600_000;
/** Default ranges of one page are equal although its brokers are read one after the other. */
const ROUNDED_MS = 1_000;
const MINUTE_MS = 60_000;
const LONGEST_MS = 3_660 * 24 * HOUR_MS;
/** Of one statement. */
const BROKERS_AT_ONCE = 50;

/**
 * The stored metrics of brokers. Reads of the same range in one turn of the event loop become one, so that a page of
 * brokers costs a constant number of statements for each BROKERS_AT_ONCE of them.
 */
export class MetricsHistory {
  readonly #history: HistoryHandle<MetricSample, MetricQueries>;
  readonly #batches = new Map<string, Batch>();

  constructor(history: HistoryHandle<MetricSample, MetricQueries>) {
    this.#history = history;
  }

  /** Errors: INVALID; those of the history. */
  async read({ id }: BrokerRecord, range: MetricsRange): Promise<MetricGrid> {
    const now = Date.now();
    const to = range.to?.getTime() ?? Math.ceil(now / ROUNDED_MS) * ROUNDED_MS;
    const from = range.from?.getTime() ?? to - HOUR_MS;
    requireRange(from, to, range.maxPoints);
    const key = `${from} ${to} ${range.maxPoints}`;
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      const brokers = new Set<string>();
      batch = { brokers, grids: this.#readLater(key, brokers, { from, to, maxSteps: range.maxPoints, now }) };
      this.#batches.set(key, batch);
    }
    batch.brokers.add(id);
    const grid = (await batch.grids).get(id);
    if (grid === undefined) throw new Error(`The history returned no metrics of ${id}`);
    return grid;
  }

  /** The last hour of brokers, added up in steps of a minute. Errors: those of the history. */
  async fleetHour(brokers: readonly BrokerRecord[]): Promise<AddedMetrics> {
    const now = Date.now();
    const from = Math.floor(now / MINUTE_MS) * MINUTE_MS - HOUR_MS;
    const shape = { from, stepMs: MINUTE_MS, steps: HOUR_MS / MINUTE_MS + 1 };
    const ids = brokers.map(({ id }) => id);
    const range = { from, to: from + shape.steps * MINUTE_MS, maxSteps: shape.steps, now };
    return addMetrics([...(await this.#readAll(ids, range)).values()], shape);
  }

  async #readLater(
    key: string,
    brokers: ReadonlySet<string>,
    request: Omit<Parameters<MetricQueries['grids']>[1], 'brokers'>,
  ): Promise<ReadonlyMap<string, MetricGrid>> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#batches.delete(key);
    return this.#readAll([...brokers], request);
  }

  async #readAll(
    all: readonly string[],
    request: Omit<Parameters<MetricQueries['grids']>[1], 'brokers'>,
  ): Promise<ReadonlyMap<string, MetricGrid>> {
    const grids = new Map<string, MetricGrid>();
    for (let first = 0; first < all.length; first += BROKERS_AT_ONCE) {
      const some = all.slice(first, first + BROKERS_AT_ONCE);
      for (const [id, grid] of await this.#history.query('grids', { ...request, brokers: some })) grids.set(id, grid);
    }
    return grids;
  }
}

function requireRange(from: number, to: number, maxPoints: number): void {
  const issues = [];
  if (from >= to) issues.push({ path: 'from', reason: 'must be before `to`' });
  if (to - from > LONGEST_MS) issues.push({ path: 'from', reason: 'must be at most ten years before `to`' });
  if (maxPoints < 1 || maxPoints > MAX_POINTS) {
    issues.push({ path: 'maxPoints', reason: `must be from 1 to ${MAX_POINTS}` });
  }
  if (issues.length > 0) throw invalid(issues);
}
