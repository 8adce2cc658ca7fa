import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { METRICS, type MetricSample } from '../../../src/data-plane/history/metrics/metric.ts';
import { gridTotal, type MetricGrid } from '../../../src/data-plane/history/metrics/metric-grid.ts';
import { metricsModule } from '../../../src/data-plane/history/metrics/metrics-module.ts';
import { HistoryCore } from '../../../src/data-plane/history/store/history-core.ts';
import { SqliteHistory } from '../../../src/data-plane/history/store/sqlite-history.ts';
import { temporaryFolder } from '../../support/database.ts';
import { onTestFinished } from '../../support/shared.ts';

const HOUR = 3_600_000;
const STEP_MS = 10_000;
const START = 1_700_000_400_000;

/** A broker that has received messages between two samples. */
function samplesOf(brokerId: string, at: number, messages: number): MetricSample[] {
  const sample = (nth: number): MetricSample => ({
    ...{ brokerId, at: at + nth * STEP_MS, uptimeSeconds: 1_000 + nth * 10, isContinued: nth > 0 },
    values: METRICS.map((metric) => (metric === 'messagesIn' ? nth * messages : null)),
  });
  return [sample(0), sample(1)];
}

/** A history as it is after a start of the service. */
async function startHistory(file: string) {
  const database = new SqliteHistory({ file, minFreeBytes: 0 });
  const core = new HistoryCore({
    database,
    modules: [metricsModule()],
    keepMs: 30 * 24 * HOUR,
    maxBytes: 1e12,
    onState: () => undefined,
    onCut: () => undefined,
    onProblem: () => undefined,
  });
  onTestFinished(() => core.close());
  await core.open();
  const writeAt = (brokerId: string, at: number, messages: number) =>
    core.write([{ module: 'metrics', arrived: samplesOf(brokerId, at, messages), gaps: [] }]);
  const received = async (now: number) => {
    const request = { brokers: ['brk_a'], from: START, to: START + 2 * HOUR, maxSteps: 600, now };
    const grid = ((await core.query('metrics', 'grids', request)) as ReadonlyMap<string, MetricGrid>).get('brk_a');
    return grid && gridTotal(grid, 'messagesIn');
  };
  return { core, database, writeAt, received };
}

function openBeside(file: string): Sqlite.Database {
  const other = new Sqlite(file);
  onTestFinished(() => void other.close());
  return other;
}

const DAMAGES = [
  ['read', 'ALTER TABLE metrics_10s RENAME TO away', 'ALTER TABLE away RENAME TO metrics_10s'],
  [
    'write',
    "CREATE TRIGGER refuse BEFORE INSERT ON metrics_1m BEGIN SELECT RAISE(ABORT, 'refused'); END",
    'DROP TRIGGER refuse',
  ],
] as const;

test.each(DAMAGES)('a roll-up that fails to %s is repeated, and loses nothing', async (_what, damage, repair) => {
  const file = join(temporaryFolder(), 'history.db');
  const { core, writeAt, received } = await startHistory(file);
  const other = openBeside(file);
  await writeAt('brk_ahead', START + 2 * HOUR, 1);
  await core.maintain(START + 3 * HOUR);
  // Earlier than what is rolled up again anyway.
  await writeAt('brk_a', START + HOUR, 20);
  other.exec(damage);
  await expect(core.maintain(START + 3 * HOUR)).rejects.toThrow();
  other.exec(repair);
  await core.maintain(START + 3 * HOUR);
  // The samples are deleted.
  const now = START + 10 * HOUR;
  await core.maintain(now);
  expect(await received(now)).toBe(20);
});

test.each(DAMAGES)('the first roll-up after a start fails to %s, and loses nothing', async (_what, damage, repair) => {
  const file = join(temporaryFolder(), 'history.db');
  const before = await startHistory(file);
  await before.writeAt('brk_ahead', START + 6 * HOUR, 1);
  await before.core.maintain(START + 7 * HOUR);
  // The clock was set back: the stored roll-ups are later than the samples.
  await before.writeAt('brk_a', START + HOUR, 20);
  await before.core.close();
  const { core, received } = await startHistory(file);
  const other = openBeside(file);
  other.exec(damage);
  await expect(core.maintain(START + 3 * HOUR)).rejects.toThrow();
  other.exec(repair);
  await core.maintain(START + 3 * HOUR);
  const now = START + 10 * HOUR;
  await core.maintain(now);
  expect(await received(now)).toBe(20);
});

test('two samples of one broker and millisecond in a batch are one row', async () => {
  const { database } = await startHistory(join(temporaryFolder(), 'history.db'));
  const [sample, next] = samplesOf('brk_a', START, 20) as [MetricSample, MetricSample];
  const [rows] = [...(await metricsModule().rowsOf([sample, sample, next], database)).values()];
  expect(rows).toHaveLength(2);
});
