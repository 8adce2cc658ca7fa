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

test.each([
  ['read', 'ALTER TABLE metrics_10s RENAME TO away', 'ALTER TABLE away RENAME TO metrics_10s'],
  [
    'write',
    "CREATE TRIGGER refuse BEFORE INSERT ON metrics_1m BEGIN SELECT RAISE(ABORT, 'refused'); END",
    'DROP TRIGGER refuse',
  ],
])('a roll-up that fails to %s is repeated, and loses nothing', async (_what, damage, repair) => {
  const file = join(temporaryFolder(), 'history.db');
  const core = new HistoryCore({
    database: new SqliteHistory({ file, minFreeBytes: 0 }),
    modules: [metricsModule()],
    keepMs: 30 * 24 * HOUR,
    maxBytes: 1e12,
    onState: () => undefined,
    onProblem: () => undefined,
  });
  onTestFinished(() => core.close());
  await core.open();
  const other = new Sqlite(file);
  onTestFinished(() => void other.close());
  /** A broker that has received messages between two samples. */
  const writeAt = (brokerId: string, at: number, messages: number) => {
    const sample = (nth: number): MetricSample => ({
      ...{ brokerId, at: at + nth * STEP_MS, uptimeSeconds: 1_000 + nth * 10, isContinued: nth > 0 },
      values: METRICS.map((metric) => (metric === 'messagesIn' ? nth * messages : null)),
    });
    return core.write([{ module: 'metrics', arrived: [sample(0), sample(1)], gaps: [] }]);
  };
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
  const request = { brokers: ['brk_a'], from: START, to: START + 2 * HOUR, maxSteps: 600, now };
  const grid = ((await core.query('metrics', 'grids', request)) as ReadonlyMap<string, MetricGrid>).get('brk_a');
  expect(grid && gridTotal(grid, 'messagesIn')).toBe(20);
});
