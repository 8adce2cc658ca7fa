import { METRICS, type Metric } from '../../../data-plane/history/metrics/metric.ts';
import { gridTotal, gridValues, type MetricGrid } from '../../../data-plane/history/metrics/metric-grid.ts';

/** The metrics of several brokers together, in equal steps. */
export interface AddedMetrics {
  /** Beginning of the first step, epoch milliseconds. */
  readonly from: number;
  readonly stepMs: number;
  /** Number of brokers that were measured in each step. */
  readonly brokers: readonly number[];
  /** Sums of the means of the measured brokers. `null`: none was measured. */
  readonly values: Readonly<Record<Metric, readonly (number | null)[]>>;
  /** What all of them refused. `null`: unknown. */
  readonly refused: number | null;
  /** The last measured value of each broker, by its id. `null`: nothing was measured. */
  readonly last: (brokerId: string, metric: Metric) => number | null;
}

/** Adds up metrics of the same steps. */
export function addMetrics(
  gridsOf: ReadonlyMap<string, MetricGrid>,
  { from, stepMs, steps }: Pick<MetricGrid, 'from' | 'stepMs' | 'steps'>,
): AddedMetrics {
  const brokers = new Array<number>(steps).fill(0);
  let refused: number | null = null;
  const sums = METRICS.map((metric) => [metric, new Array<number | null>(steps).fill(null)] as const);
  for (const grid of gridsOf.values()) {
    const total = gridTotal(grid, 'refusals');
    if (total !== null) refused = (refused ?? 0) + total;
    const isMeasured = new Array<boolean>(steps).fill(false);
    for (const [metric, sum] of sums) {
      for (const [step, mean] of gridValues(grid, metric, 'mean').entries()) {
        if (mean === null) continue;
        sum[step] = (sum[step] ?? 0) + mean;
        isMeasured[step] = true;
      }
    }
    for (const [step, is] of isMeasured.entries()) if (is) brokers[step] = (brokers[step] ?? 0) + 1;
  }
  const last = (brokerId: string, metric: Metric) => {
    const grid = gridsOf.get(brokerId);
    return (grid && gridValues(grid, metric, 'mean').findLast((value) => value !== null)) ?? null;
  };
  return {
    from,
    stepMs,
    brokers,
    values: Object.fromEntries(sums) as Record<Metric, (number | null)[]>,
    refused,
    last,
  };
}
