import type { HistoryReader } from '../model/history-module.ts';
import { LEVELS, type Level } from './metric.ts';
import { GridBuilder, type GridShape, type MetricGrid } from './metric-grid.ts';
import { readMeasured, type StoredMeasured } from './stored-metrics.ts';

export interface GridRequest {
  readonly brokers: readonly string[];
  /** Epoch milliseconds; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly maxSteps: number;
  readonly now: number;
}

const MAX_STEPS = 10_000;

/** When the rows of each level begin in the time of a request. */
function beginnings(db: HistoryReader, { from, to }: GridRequest): Promise<readonly number[]> {
  return Promise.all(
    LEVELS.map(async ({ table }) => {
      const sql = `SELECT min(at) AS at FROM history.${table} WHERE at >= $1 AND at < $2`;
      const [row] = await db.all<{ at: number | null }>(sql, [from, to]);
      return row?.at ?? Number.POSITIVE_INFINITY;
    }),
  );
}

/** The finest step of at most `maxSteps`, and the level that has it for the whole time. */
function shapeOf(
  { from, to, maxSteps, now }: Omit<GridRequest, 'brokers'>,
  begins: readonly number[],
): GridShape & { readonly level: Level } {
  const most = Math.min(Math.max(1, maxSteps), MAX_STEPS);
  const wanted = Math.max(1, to - from) / most;
  // A history that is too large loses the oldest rows of its largest table, of which a coarser one still has the sums.
  const isCut = (nth: number) =>
    LEVELS.some((coarser, other) => other > nth && (begins[nth] ?? 0) > (begins[other] ?? 0) + coarser.stepMs);
  const lasting = LEVELS.filter(({ keepMs }, nth) => (keepMs === null || from >= now - keepMs) && !isCut(nth));
  // The coarsest that is fine enough has the fewest rows.
  const level = lasting.findLast(({ stepMs }) => stepMs <= wanted) ?? lasting[0] ?? LEVELS[2];
  let stepMs = Math.max(1, Math.ceil(wanted / level.stepMs)) * level.stepMs;
  // The first step may begin before `from`, and the last one end after `to`.
  const start = () => Math.floor(from / stepMs) * stepMs;
  const stepsOf = () => Math.max(1, Math.ceil((to - start()) / stepMs));
  while (stepsOf() > most) stepMs += level.stepMs;
  return { level, from: start(), stepMs, steps: stepsOf() };
}

/**
 * The metrics of brokers in steps, with at most two statements per level: what is not rolled up yet is read from the
 * finer levels.
 */
export async function readGrids(db: HistoryReader, request: GridRequest): Promise<ReadonlyMap<string, MetricGrid>> {
  const { level, ...shape } = shapeOf(request, await beginnings(db, request));
  const end = shape.from + shape.steps * shape.stepMs;
  const builders = new Map(request.brokers.map((broker) => [broker, new GridBuilder(shape)]));
  /** Up to when rows of each broker are read. */
  const readTo = new Map(request.brokers.map((broker) => [broker, shape.from]));
  for (let nth = LEVELS.indexOf(level); nth >= 0; nth--) {
    const current = LEVELS[nth];
    if (current === undefined) break;
    // A row of the finest level has the time of its end, which belongs to the step before.
    const ranges = Array.from(readTo, ([broker, from]) => ({ broker, from: nth === 0 ? from + 1 : from }));
    // The last row of the finest level may have its end in the next step.
    for (const row of await readMeasured(db, current, ranges, nth === 0 ? end + current.stepMs : end)) {
      const [from, to] = timeOf(row, current);
      builders.get(row.broker)?.add(row, from, to);
      readTo.set(row.broker, row.at + current.stepMs);
    }
  }
  return new Map(Array.from(builders, ([broker, builder]) => [broker, builder.result()]));
}

/** The measured time of a row. */
function timeOf({ at, covered }: StoredMeasured, { stepMs }: Level): [start: number, end: number] {
  if (stepMs === LEVELS[0].stepMs) return [at - covered, at];
  return [Math.min(at, at + stepMs - covered), at + stepMs];
}
