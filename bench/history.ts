/**
 * What the history of metrics costs. There is no peer: the bars are those of the product.
 * - `node bench/run.mjs history running`: the processor time and the memory of 1,000 brokers with a sample every ten
 *   seconds.
 * - `node bench/run.mjs history days`: the size of 30 days of 100 brokers, and the time of charts.
 * Without a part, both.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { HistoryThread } from '../src/data-plane/history/hosting/history-thread.ts';
import { changeOf, stateOf } from '../src/data-plane/history/metrics/counter-state.ts';
import { MeasuredSum } from '../src/data-plane/history/metrics/measured.ts';
import { LEVELS, METRICS, type MetricSample } from '../src/data-plane/history/metrics/metric.ts';
import { METRICS_MODULE, type MetricQueries, metricsModule } from '../src/data-plane/history/metrics/metrics-module.ts';
import { rowOf } from '../src/data-plane/history/metrics/stored-metrics.ts';
import { HistoryCore } from '../src/data-plane/history/store/history-core.ts';
import { SqliteHistory } from '../src/data-plane/history/store/sqlite-history.ts';
import { atMost } from './support/bars.ts';

const BROKERS = 1_000;
/** Of ten seconds. */
const ROUNDS = 30;
const ROUND_MS = 10_000;
const DAY_MS = 86_400_000;
const MIB = 1_048_576;

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-history-'));
try {
  const [part] = process.argv.slice(2);
  for (const [name, measure] of Object.entries({ running, days: thirtyDays }))
    if (part === undefined || part === name) await measure();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A broker with traffic that varies. */
function sampler(brokerId: string, startedAt: number) {
  const counters = METRICS.map(() => 0);
  return (at: number): MetricSample => {
    const values = counters.map((count, nth) => {
      const next = nth < 5 ? Math.round(100 + 50 * Math.random()) : count + Math.round(10_000 * Math.random());
      counters[nth] = next;
      return next;
    });
    return { brokerId, at, uptimeSeconds: Math.floor((at - startedAt) / 1_000), isContinued: at > startedAt, values };
  };
}

async function running(): Promise<void> {
  const memory = () => process.memoryUsage.rss() / MIB;
  const before = memory();
  const history = new HistoryThread({
    place: { file: join(folder, 'running.db'), minFreeBytes: 0 },
    keepMs: 30 * DAY_MS,
    maxBytes: 2_048 * MIB,
    // Of the built product: `node scripts/build.mjs`.
    workerUrl: new URL('../../../dist/data-plane/history/hosting/history-worker.js', import.meta.url),
    log: pino({ level: 'warn' }),
  });
  const metrics = history.module<MetricSample, MetricQueries>(METRICS_MODULE);
  let at = Date.now() - ROUNDS * ROUND_MS;
  const samplers = Array.from({ length: BROKERS }, (_, nth) => sampler(`brk_${String(nth).padStart(26, '0')}`, at));
  await history.maintain(at);
  let used = process.cpuUsage();
  for (let round = 0; round <= ROUNDS; round++, at += ROUND_MS) {
    if (round === 1) used = process.cpuUsage();
    for (const sample of samplers) metrics.insert(sample(at), at, 400);
    await history.flush();
    if (round % 6 === 0) await history.maintain(at);
  }
  const { user, system } = process.cpuUsage(used);
  const share = (user + system) / 1_000 / (ROUNDS * ROUND_MS);
  atMost(`${BROKERS} brokers`, 100 * share, 3, '% of a core');
  atMost(`${BROKERS} brokers`, memory() - before, 40, 'MB');
  await history.close();
}

async function thirtyDays(): Promise<void> {
  const file = join(folder, 'days.db');
  const database = new SqliteHistory({ file, minFreeBytes: 0 });
  const core = new HistoryCore({
    database,
    modules: [metricsModule()],
    keepMs: 31 * DAY_MS,
    maxBytes: 4_096 * MIB,
    onState: () => undefined,
    onCut: () => undefined,
    onProblem: (error) => console.error(error),
  });
  await core.open();
  const now = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const tables = metricsModule().tables;
  const brokers = Array.from({ length: 100 }, (_, nth) => `brk_${String(nth).padStart(26, '0')}`);
  for (const [nth, level] of LEVELS.entries()) {
    const table = tables[nth];
    const keepMs = level.keepMs ?? 30 * DAY_MS;
    const samplers = brokers.map((broker) => [broker, sampler(broker, now - 31 * DAY_MS)] as const);
    const states = new Map(brokers.map((broker) => [broker, null as ReturnType<typeof stateOf> | null]));
    for (let at = now - keepMs; at < now && table !== undefined; at += level.stepMs) {
      const rows = samplers.map(([broker, next]) => {
        const sum = new MeasuredSum();
        // Three samples stand for those of a step.
        for (let part = nth === 0 ? 2 : 0; part < 3; part++) {
          const sample = next(at + (part * level.stepMs) / 3);
          const { measured, coveredMs } = changeOf(states.get(broker) ?? null, sample);
          states.set(broker, stateOf(sample));
          sum.add(measured, coveredMs);
        }
        return rowOf(level, {
          broker,
          at,
          covered: sum.coveredMs,
          measured: sum.result(),
          state: states.get(broker) ?? null,
        });
      });
      await database.transaction((transaction) => transaction.insert(table, rows));
    }
  }
  atMost('30 days of 100 brokers', statSync(file).size / MIB, 300, 'MB');
  for (const [title, days, some, maxSteps, mostMs] of [
    ['a chart of 30 days', 30, 1, 300, 50],
    ['a chart of one day', 1, 1, 300, 50],
    ['small charts of a day of 50 brokers', 1, 50, 60, 250],
  ] as const) {
    const [times, cpuTimes]: [number[], number[]] = [[], []];
    for (let round = 0; round < 21; round++) {
      const [from, started] = [performance.now(), process.cpuUsage()];
      const request = {
        brokers: brokers.slice(round, round + some),
        from: now - days * DAY_MS,
        to: now,
        maxSteps,
        now,
      };
      await core.query('metrics', 'grids', request);
      const { user, system } = process.cpuUsage(started);
      times.push(performance.now() - from);
      cpuTimes.push((user + system) / 1_000);
    }
    for (const list of [times, cpuTimes]) list.sort((a, b) => a - b);
    atMost(`${title}, median`, cpuTimes[10] ?? Number.NaN, mostMs, 'ms of processor time');
    const ms = (list: number[], nth: number) => `${list[nth]?.toFixed(1)} ms`;
    console.log(`  ${ms(times, 10)} with waiting; slowest ${ms(times, 20)}, ${ms(cpuTimes, 20)} of processor time`);
  }
  await core.close();
}
