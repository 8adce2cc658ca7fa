import type { HistoryHandle } from '../../../data-plane/history/hosting/history-thread.ts';
import type { MetricSample } from '../../../data-plane/history/metrics/metric.ts';
import type { MetricGrid } from '../../../data-plane/history/metrics/metric-grid.ts';
import type { MetricQueries } from '../../../data-plane/history/metrics/metrics-module.ts';
import type { Viewer } from '../../../platform/auth/viewer.ts';
import { invalid, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit, QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
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
/** Readings at the same time: one of all that a document may select has about 70 MB. */
const MAX_READING = 2;
/** Of one caller. */
const MAX_WAITING = 100;

/**
 * The stored metrics of brokers. Reads of a caller and range in one turn of the event loop become one, so that a page
 * of brokers costs a constant number of statements for each BROKERS_AT_ONCE of them. Callers have equal turns.
 */
export class MetricsHistory {
  readonly #history: HistoryHandle<MetricSample, MetricQueries>;
  readonly #batches = new Map<string, Batch>();
  /** Of the same brokers, by their ids. */
  readonly #fleets = new Map<string, Promise<AddedMetrics>>();
  readonly #limit = new ConcurrencyLimit({ maxRunning: MAX_READING, maxWaitingPerKey: MAX_WAITING });

  constructor(history: HistoryHandle<MetricSample, MetricQueries>) {
    this.#history = history;
  }

  /** Errors: INVALID, RATE_LIMITED; those of the history. */
  async read({ id }: BrokerRecord, range: MetricsRange, viewer: Viewer | null): Promise<MetricGrid> {
    const now = Date.now();
    const to = range.to?.getTime() ?? Math.ceil(now / ROUNDED_MS) * ROUNDED_MS;
    const from = range.from?.getTime() ?? to - HOUR_MS;
    requireRange(from, to, range.maxPoints);
    const reader = readerOf(viewer);
    const key = `${reader} ${from} ${to} ${range.maxPoints}`;
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      const brokers = new Set<string>();
      const request = { from, to, maxSteps: range.maxPoints, now };
      batch = { brokers, grids: this.#readLater(key, reader, brokers, request) };
      this.#batches.set(key, batch);
    }
    batch.brokers.add(id);
    const grid = (await batch.grids).get(id);
    if (grid === undefined) throw new Error(`The history returned no metrics of ${id}`);
    return grid;
  }

  /** The last hour of brokers, added up in steps of a minute. Errors: RATE_LIMITED; those of the history. */
  fleetHour(brokers: readonly BrokerRecord[], viewer: Viewer | null): Promise<AddedMetrics> {
    const ids = brokers.map(({ id }) => id);
    const key = ids.join(' ');
    const known = this.#fleets.get(key);
    if (known !== undefined) return known;
    const reading = this.#limited(readerOf(viewer), () => this.#addHour(ids)).finally(() => this.#fleets.delete(key));
    this.#fleets.set(key, reading);
    return reading;
  }

  async #addHour(ids: readonly string[]): Promise<AddedMetrics> {
    const now = Date.now();
    const from = Math.floor(now / MINUTE_MS) * MINUTE_MS - HOUR_MS;
    const shape = { from, stepMs: MINUTE_MS, steps: HOUR_MS / MINUTE_MS + 1 };
    const range = { from, to: from + shape.steps * MINUTE_MS, maxSteps: shape.steps, now };
    return addMetrics(await this.#readAll(ids, range), shape);
  }

  async #readLater(
    key: string,
    reader: string,
    brokers: ReadonlySet<string>,
    request: GridRange,
  ): Promise<ReadonlyMap<string, MetricGrid>> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#batches.delete(key);
    return this.#limited(reader, () => this.#readAll([...brokers], request));
  }

  async #readAll(all: readonly string[], request: GridRange): Promise<ReadonlyMap<string, MetricGrid>> {
    const grids = new Map<string, MetricGrid>();
    for (let first = 0; first < all.length; first += BROKERS_AT_ONCE) {
      const some = all.slice(first, first + BROKERS_AT_ONCE);
      for (const [id, grid] of await this.#history.query('grids', { ...request, brokers: some })) grids.set(id, grid);
    }
    return grids;
  }

  #limited<T>(reader: string, read: () => Promise<T>): Promise<T> {
    return this.#limit.run(read, { key: reader }).catch((error: unknown) => {
      throw error instanceof QueueFull ? tooMany() : error;
    });
  }
}

type GridRange = Omit<Parameters<MetricQueries['grids']>[1], 'brokers'>;

const readerOf = (viewer: Viewer | null): string => viewer?.credentialId ?? '';

const tooMany = () =>
  new ServiceError(
    'RATE_LIMITED',
    `More than ${MAX_WAITING} of your readings of stored metrics wait: try again later`,
    {
      info: { retryAfterSeconds: 1 },
    },
  );

function requireRange(from: number, to: number, maxPoints: number): void {
  const issues = [];
  if (from >= to) issues.push({ path: 'from', reason: 'must be before `to`' });
  if (to - from > LONGEST_MS) issues.push({ path: 'from', reason: 'must be at most ten years before `to`' });
  if (maxPoints < 1 || maxPoints > MAX_POINTS) {
    issues.push({ path: 'maxPoints', reason: `must be from 1 to ${MAX_POINTS}` });
  }
  if (issues.length > 0) throw invalid(issues);
}
