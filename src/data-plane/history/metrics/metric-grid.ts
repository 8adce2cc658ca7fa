import { MAX, MEAN, MeasuredSum, MIN, MISSED, NUMBERS, SUM } from './measured.ts';
import { METRICS, type Metric } from './metric.ts';
import type { StoredMeasured } from './stored-metrics.ts';

/** The metrics of a broker in equal steps. */
export interface MetricGrid {
  /** Beginning of the first step, epoch milliseconds. */
  readonly from: number;
  readonly stepMs: number;
  readonly steps: number;
  /** Per metric the means of all steps, their minima and their maxima. NaN: nothing was measured. */
  readonly values: Float64Array;
  /** Per metric what a counter increased by, also while nothing was measured. NaN: unknown. */
  readonly totals: Float64Array;
}

export type GridShape = Pick<MetricGrid, 'from' | 'stepMs' | 'steps'>;

const KINDS = [MEAN, MIN, MAX] as const;

/** Collects stored rows. A row that covers several steps belongs to each with its share. */
export class GridBuilder {
  readonly #shape: GridShape;
  readonly #steps = new Map<number, MeasuredSum>();

  constructor(shape: GridShape) {
    this.#shape = shape;
  }

  /** `start` and `end`: the measured time of the row. */
  add({ measured, covered }: StoredMeasured, start: number, end: number): void {
    const { from, stepMs, steps } = this.#shape;
    const length = end - start;
    const last = Math.ceil((end - from) / stepMs) - 1;
    const first = Math.min(last, Math.floor((start - from) / stepMs));
    for (let step = Math.max(0, first); step <= last && step < steps; step++) {
      const stepStart = from + step * stepMs;
      const overlap = Math.min(end, stepStart + stepMs) - Math.max(start, stepStart);
      this.#stepAt(step).add(measured, covered, length > 0 ? overlap / length : 1, step === last);
    }
  }

  result(): MetricGrid {
    const { steps } = this.#shape;
    const values = new Float64Array(METRICS.length * KINDS.length * steps).fill(Number.NaN);
    const totals = new Float64Array(METRICS.length).fill(Number.NaN);
    for (const [step, sum] of this.#steps) {
      const numbers = sum.result();
      for (let metric = 0; metric < METRICS.length; metric++) {
        for (const [nth, kind] of KINDS.entries())
          values[(metric * KINDS.length + nth) * steps + step] = numbers[metric * NUMBERS + kind] ?? Number.NaN;
        for (const kind of [SUM, MISSED]) {
          const increase = numbers[metric * NUMBERS + kind] ?? Number.NaN;
          const total = totals[metric] ?? Number.NaN;
          if (!Number.isNaN(increase)) totals[metric] = (Number.isNaN(total) ? 0 : total) + increase;
        }
      }
    }
    return { ...this.#shape, values, totals };
  }

  #stepAt(step: number): MeasuredSum {
    let sum = this.#steps.get(step);
    if (sum === undefined) {
      sum = new MeasuredSum();
      this.#steps.set(step, sum);
    }
    return sum;
  }
}

/** The values of all steps; `null`: nothing was measured. */
export function gridValues(
  { values, steps }: MetricGrid,
  metric: Metric,
  kind: 'mean' | 'min' | 'max',
): (number | null)[] {
  const row = METRICS.indexOf(metric) * KINDS.length + ['mean', 'min', 'max'].indexOf(kind);
  return Array.from(values.subarray(row * steps, (row + 1) * steps), (value) => (Number.isNaN(value) ? null : value));
}

/** Rounded, because a row at the edge of the grid belongs to it with its share. */
export function gridTotal({ totals }: MetricGrid, metric: Metric): number | null {
  const total = totals[METRICS.indexOf(metric)] ?? Number.NaN;
  return Number.isNaN(total) ? null : Math.round(total);
}
