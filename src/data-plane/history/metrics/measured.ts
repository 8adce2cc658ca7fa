import { METRICS } from './metric.ts';

/**
 * What was measured in a time, five numbers per metric: the mean, the minimum, the maximum, and of counters the
 * increase in that time and before it while nothing was measured. Means of counters are per second. NaN: unknown.
 */
export type Measured = Float64Array;

export const NUMBERS = 5;
export const MEAN = 0;
export const MIN = 1;
export const MAX = 2;
export const SUM = 3;
export const MISSED = 4;

export const nothingMeasured = (): Measured => new Float64Array(METRICS.length * NUMBERS).fill(Number.NaN);

/** A part of a time that was measured, when its row has none: for the first values after a connection. */
const LEAST_MS = 1;

/** Joins what was measured in several times. */
export class MeasuredSum {
  readonly #numbers = nothingMeasured();
  /** Milliseconds that were measured, per metric. */
  readonly #weights = new Float64Array(METRICS.length);
  /** Milliseconds that were measured. */
  coveredMs = 0;
  isEmpty = true;

  /** Adds a share of what was measured in `coveredMs`. `withMissed`: also what happened before. */
  add(measured: Measured, coveredMs: number, share = 1, withMissed = true): void {
    this.isEmpty = false;
    this.coveredMs += coveredMs * share;
    const weight = Math.max(coveredMs * share, LEAST_MS);
    for (let metric = 0; metric < METRICS.length; metric++)
      this.#addMetric(metric, measured, weight, share, withMissed);
  }

  /** The numbers of all metrics. */
  result(): Measured {
    return this.#numbers;
  }

  #addMetric(metric: number, measured: Measured, weight: number, share: number, withMissed: boolean): void {
    const first = metric * NUMBERS;
    const numbers = this.#numbers;
    const number = (nth: number) => measured[first + nth] ?? Number.NaN;
    const known = (nth: number) => numbers[first + nth] ?? Number.NaN;
    const missed = number(MISSED);
    if (withMissed && !Number.isNaN(missed)) numbers[first + MISSED] = zeroIfNaN(known(MISSED)) + missed;
    const mean = number(MEAN);
    if (Number.isNaN(mean)) return;
    const before = this.#weights[metric] ?? 0;
    const all = before + weight;
    numbers[first + MEAN] = before === 0 ? mean : (known(MEAN) * before + mean * weight) / all;
    numbers[first + MIN] = before === 0 ? number(MIN) : Math.min(known(MIN), number(MIN));
    numbers[first + MAX] = before === 0 ? number(MAX) : Math.max(known(MAX), number(MAX));
    if (!Number.isNaN(number(SUM))) numbers[first + SUM] = zeroIfNaN(known(SUM)) + number(SUM) * share;
    this.#weights[metric] = all;
  }
}

const zeroIfNaN = (value: number): number => (Number.isNaN(value) ? 0 : value);
