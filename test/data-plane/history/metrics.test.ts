import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nothingMeasured } from '../../../src/data-plane/history/metrics/measured.ts';
import { bytesOf, measuredFrom } from '../../../src/data-plane/history/metrics/measured-bytes.ts';
import { METRICS, type MetricSample } from '../../../src/data-plane/history/metrics/metric.ts';
import { gridTotal, gridValues, type MetricGrid } from '../../../src/data-plane/history/metrics/metric-grid.ts';
import { metricsModule } from '../../../src/data-plane/history/metrics/metrics-module.ts';
import type { GridRequest } from '../../../src/data-plane/history/metrics/read-grids.ts';
import { METRIC_TABLES } from '../../../src/data-plane/history/metrics/stored-metrics.ts';
import { copyHistory } from '../../../src/data-plane/history/store/copy-history.ts';
import { gapsOf } from '../../../src/data-plane/history/store/gaps.ts';
import { HistoryCore } from '../../../src/data-plane/history/store/history-core.ts';
import type { HistoryDatabase } from '../../../src/data-plane/history/store/history-database.ts';
import { PostgresqlHistory } from '../../../src/data-plane/history/store/postgresql-history.ts';
import { SqliteHistory } from '../../../src/data-plane/history/store/sqlite-history.ts';
import { emptyDatabase, temporaryFolder } from '../../support/database.ts';
import { usePostgres } from '../../support/postgres.ts';
import { onTestFinished } from '../../support/shared.ts';

const postgres = usePostgres();
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A full hour, and no full step of the samples. */
const START = 1_700_000_400_000 - 3_000;
const MESSAGES = METRICS.indexOf('messagesIn');
const CLIENTS = METRICS.indexOf('clients');

const OPTIONS = {
  modules: [metricsModule()],
  keepMs: 30 * DAY,
  maxBytes: 1e12,
  onState: () => undefined,
  onCut: () => undefined,
  onProblem: () => undefined,
};

/** A broker that counts what is published to it, and its samples. */
function brokerAt(startedAt: number, brokerId = 'brk_a') {
  let [since, count, clients] = [startedAt, 0, 0];
  return {
    publish: (messages: number) => {
      count += messages;
    },
    connect: (now: number) => {
      clients = now;
    },
    restart: (at: number) => {
      since = at;
      count = 0;
    },
    sample: (at: number, isContinued = true): MetricSample => {
      const values: (number | null)[] = METRICS.map(() => null);
      values[MESSAGES] = count;
      values[CLIENTS] = clients;
      return { brokerId, at, uptimeSeconds: Math.floor((at - since) / SECOND), isContinued, values };
    },
  };
}

describe.each(['SQLite', 'PostgreSQL'])('metrics in %s', (engine) => {
  async function place(): Promise<() => HistoryDatabase> {
    if (engine === 'SQLite') {
      const file = join(temporaryFolder(), 'history.db');
      return () => new SqliteHistory({ file, minFreeBytes: 0 });
    }
    const url = await emptyDatabase(postgres);
    return () => new PostgresqlHistory(url);
  }

  /** The history as a process has it: `again` is the next one. */
  async function open(databaseOf: () => HistoryDatabase) {
    const problems: unknown[] = [];
    const database = databaseOf();
    const core = new HistoryCore({
      database,
      modules: [metricsModule()],
      keepMs: 30 * DAY,
      maxBytes: 1e12,
      onState: () => undefined,
      onCut: () => undefined,
      onProblem: (error) => problems.push(error),
    });
    await core.open();
    let closing: Promise<void> | null = null;
    const close = () => {
      closing ??= core.close();
      return closing;
    };
    onTestFinished(close);
    const write = (samples: readonly MetricSample[]) => core.write([{ module: 'metrics', arrived: samples, gaps: [] }]);
    const grids = async (request: GridRequest) =>
      (await core.query('metrics', 'grids', request)) as ReadonlyMap<string, MetricGrid>;
    const grid = async (request: Omit<GridRequest, 'brokers'>) => {
      const found = (await grids({ ...request, brokers: ['brk_a'] })).get('brk_a');
      if (found === undefined) throw new Error('no metrics');
      return found;
    };
    return { core, database, write, grid, grids, close, problems };
  }

  test('totals equal what was published, at every level, with restarts of the broker and the service', async () => {
    const databaseOf = await place();
    let history = await open(databaseOf);
    const broker = brokerAt(START - HOUR);
    let [at, published, measured] = [START, 0, 0];
    const samples: MetricSample[] = [broker.sample(at, false)];
    const run = (steps: number) => {
      for (let step = 0; step < steps; step++) {
        at += 10 * SECOND;
        const messages = (step * 7) % 50;
        broker.publish(messages);
        published += messages;
        measured += messages;
        samples.push(broker.sample(at));
      }
    };
    run(300);
    // The link is down for five minutes, in which the broker goes on.
    broker.publish(1_234);
    published += 1_234;
    at += 5 * MINUTE;
    samples.push(broker.sample(at, false));
    run(200);
    expect(await history.write(samples.splice(0))).toMatchObject({ problem: null });
    await history.core.maintain(at);
    await history.close();
    expect(history.problems).toEqual([]);

    // The service is away for ten minutes; meanwhile the broker restarts, and counts from zero.
    history = await open(databaseOf);
    at += 10 * MINUTE;
    broker.restart(at - 2 * MINUTE);
    broker.publish(77);
    published += 77;
    samples.push(broker.sample(at, false));
    run(50);
    await history.write(samples.splice(0));
    await history.core.maintain(at + 20 * SECOND);
    // Not rolled up yet.
    run(3);
    await history.write(samples.splice(0));

    for (const [now, maxSteps, stepMs] of [
      [at, 2_000, 10 * SECOND],
      [at, 130, MINUTE],
      [at, 7, 20 * MINUTE],
      [at + HOUR, 2_000, MINUTE],
      [at + 3 * DAY, 2_000, 10 * MINUTE],
    ] as const) {
      const shown = await history.grid({ from: START - 10 * MINUTE, to: at + 10 * SECOND, maxSteps, now });
      expect(shown.stepMs).toBe(stepMs);
      expect(gridTotal(shown, 'messagesIn')).toBe(published);
      expect(gridTotal(shown, 'clients')).toBeNull();
      const means = gridValues(shown, 'messagesIn', 'mean');
      expect(means.slice(0, Math.floor((10 * MINUTE) / stepMs)).every((mean) => mean === null)).toBe(true);
      // Every step but those at the edge of a gap is measured whole.
      const sum = means.reduce<number>((all, mean) => all + ((mean ?? 0) * stepMs) / SECOND, 0);
      if (stepMs <= MINUTE) expect(Math.abs(sum - measured)).toBeLessThan(measured / 20);
      const [least, most] = [gridValues(shown, 'messagesIn', 'min'), gridValues(shown, 'messagesIn', 'max')];
      means.forEach((mean, step) => {
        if (mean === null) expect([least[step], most[step]]).toEqual([null, null]);
        else expect((least[step] ?? 0) <= mean + 1e-9 && mean <= (most[step] ?? 0) + 1e-9).toBe(true);
      });
    }
    expect(history.problems).toEqual([]);
  });

  test('a time without samples is a gap, and no zero', async () => {
    const { write, grid, core } = await open(await place());
    const broker = brokerAt(START - HOUR);
    broker.connect(3);
    await write([0, 1, 2, 3].map((nth) => broker.sample(START + nth * 10 * SECOND, nth > 0)));
    broker.connect(5);
    const back = START + 5 * MINUTE;
    await write([0, 1, 2].map((nth) => broker.sample(back + nth * 10 * SECOND, nth > 0)));
    await core.maintain(back + 2 * MINUTE);
    const now = back + 2 * MINUTE;
    const fine = await grid({ from: START, to: back + 20 * SECOND, maxSteps: 100, now });
    expect(fine.stepMs).toBe(10 * SECOND);
    const clients = gridValues(fine, 'clients', 'max');
    expect(clients.slice(0, 3)).toEqual([3, 3, 3]);
    expect(clients.slice(5, 28).every((value) => value === null)).toBe(true);
    expect(clients.at(-1)).toBe(5);
    const minutes = await grid({ from: START, to: now, maxSteps: 8, now });
    expect(minutes.stepMs).toBe(MINUTE);
    expect(gridValues(minutes, 'clients', 'mean')).toEqual([3, 3, null, null, null, 5, 5, null]);
    expect(gridValues(minutes, 'subscriptions', 'mean').every((value) => value === null)).toBe(true);
  });

  test('what is stored with clocks that differ, or were set back, is rolled up', async () => {
    const databaseOf = await place();
    const ahead = await open(databaseOf);
    const other = engine === 'SQLite' ? ahead : await open(databaseOf);
    const samplesOf = (id: string, at: number, messages: number) => {
      const broker = brokerAt(START - HOUR, id);
      const first = broker.sample(at, false);
      broker.publish(messages);
      return [first, broker.sample(at + 10 * SECOND)];
    };
    for (const [id, behindMs, messages] of [
      ['brk_ahead', 0, 1],
      ['brk_a', 10 * MINUTE, 20],
      ['brk_b', 3 * HOUR, 300],
    ] as const) {
      const history = id === 'brk_ahead' ? ahead : other;
      const at = START + 4 * HOUR - behindMs;
      await history.write(samplesOf(id, at, messages));
      await history.core.maintain(at + 7 * MINUTE);
    }
    // The samples are deleted.
    const now = START + 10 * HOUR;
    await ahead.core.maintain(now);
    const request = { brokers: ['brk_a', 'brk_b'], from: START, to: START + 5 * HOUR, maxSteps: 600, now };
    const found = await other.grids(request);
    expect(request.brokers.map((id) => found.get(id)).map((one) => one && gridTotal(one, 'messagesIn'))).toEqual([
      20, 300,
    ]);
  });

  test('what is measured after a clock was set back is stored, and counted once', async () => {
    const databaseOf = await place();
    let history = await open(databaseOf);
    const broker = brokerAt(START - HOUR);
    let [at, behindMs, published] = [START, 0, 0];
    const sample = (isContinued: boolean) => ({ ...broker.sample(at, isContinued), at: at - behindMs });
    const record = async (steps: number, isNew = false) => {
      for (let step = 0; step < steps; step++) {
        await history.write([sample(!isNew || step > 0)]);
        // A batch that comes again.
        if (step % 10 === 9) await history.write([sample(true)]);
        broker.publish(5);
        published += 5;
        at += 10 * SECOND;
      }
    };
    await record(60, true);
    behindMs = 30 * MINUTE + 4 * SECOND;
    await record(30);
    await history.core.maintain(at - behindMs);
    await history.close();
    history = await open(databaseOf);
    // What was published between these two samples is not known.
    published -= 5;
    await record(10, true);
    // The clock reaches the time at which it was set back.
    await record(200);
    published -= 5;
    const now = at - behindMs;
    const range = { from: START - 21 * MINUTE, to: now };
    const grid = await history.grid({ ...range, maxSteps: 1_000, now });
    expect(gridTotal(grid, 'messagesIn')).toBe(published);
    const rates = gridValues(grid, 'messagesIn', 'max');
    expect(rates.filter((rate) => rate !== null && rate !== 0.5)).toEqual([]);
    // Before it was set back, at the restart, and at the end.
    expect(rates.filter((rate) => rate === null).length).toBeLessThan(15);
    // The samples are deleted.
    const later = now + 10 * HOUR;
    await history.core.maintain(later);
    expect(gridTotal(await history.grid({ ...range, maxSteps: 100, now: later }), 'messagesIn')).toBe(published);
    expect(history.problems).toEqual([]);
  });

  test.skipIf(engine === 'SQLite')('a broker that returns to a process is counted once', async () => {
    const databaseOf = await place();
    const [one, other] = [await open(databaseOf), await open(databaseOf)];
    const broker = brokerAt(START - HOUR);
    let [at, published] = [START, 0];
    const record = async ({ write }: typeof one, steps: number, isNew = false) => {
      for (let step = 0; step < steps; step++) {
        await write([broker.sample(at, !isNew || step > 0)]);
        broker.publish(5);
        published += 5;
        at += 10 * SECOND;
      }
    };
    await record(one, 3);
    for (const steps of [3, 100]) {
      await record(other, steps);
      await record(one, 3);
    }
    published -= 5;
    const grid = await one.grid({ from: START - MINUTE, to: at, maxSteps: 1_000, now: at });
    expect(gridTotal(grid, 'messagesIn')).toBe(published);
    // None is missing, or measured twice.
    expect(gridValues(grid, 'messagesIn', 'max').filter((rate) => rate !== null && rate !== 0.5)).toEqual([]);
  });

  test('a chart has what a coarser level still has of minutes that were deleted for their size', async () => {
    const { write, grid, core, database } = await open(await place());
    const broker = brokerAt(START - HOUR);
    const samples = Array.from({ length: 4 * 360 + 1 }, (_, nth) => {
      if (nth > 0) broker.publish(10);
      return broker.sample(START + nth * 10 * SECOND, nth > 0);
    });
    await write(samples);
    const now = START + 4 * HOUR;
    await core.maintain(now);
    const request = { from: START + 5 * MINUTE, to: now, maxSteps: 200, now };
    const whole = await grid(request);
    expect(whole.stepMs).toBe(2 * MINUTE);
    const minutes = METRIC_TABLES.find(({ name }) => name === 'metrics_1m');
    if (minutes === undefined) throw new Error('no minutes');
    await database.deleteOldest(minutes, 0.4, () => false);
    const cut = await grid(request);
    expect(cut.stepMs).toBe(10 * MINUTE);
    expect(gridValues(cut, 'messagesIn', 'mean').filter((mean) => mean === null)).toEqual([]);
    expect(gridTotal(cut, 'messagesIn')).toBeGreaterThanOrEqual(gridTotal(whole, 'messagesIn') ?? 0);
    // Later times have their minutes.
    expect((await grid({ ...request, from: now - HOUR, maxSteps: 40 })).stepMs).toBe(2 * MINUTE);
  });

  test('a grid has at most the steps that were requested', async () => {
    const { grid } = await open(await place());
    const now = START + 800 * DAY;
    for (const maxSteps of [1, 2, 3, 50, 100])
      for (const span of [35 * SECOND, 35 * MINUTE, HOUR, DAY, 700 * DAY])
        for (const to of [now, now - 1, now - 4_567_890]) {
          const shown = await grid({ from: to - span, to, maxSteps, now });
          const steps = gridValues(shown, 'clients', 'mean').length;
          expect([maxSteps, span, steps <= maxSteps]).toEqual([maxSteps, span, true]);
        }
  });

  test('many brokers are read at once, a batch that comes again changes nothing, and a late one is rolled up', async () => {
    const { write, grids, core } = await open(await place());
    const samples = Array.from({ length: 60 }, (_, nth) => {
      const broker = brokerAt(START - HOUR, `brk_${nth}`);
      const first = broker.sample(START, false);
      broker.publish(nth);
      return [first, broker.sample(START + 10 * SECOND)];
    }).flat();
    const now = START + 3 * MINUTE;
    await write(samples.slice(0, 100));
    await write(samples.slice(50, 100));
    await core.maintain(now);
    await write(samples.slice(100));
    await core.maintain(now);
    const request = {
      brokers: Array.from({ length: 61 }, (_, nth) => `brk_${nth}`),
      from: START - MINUTE,
      to: now,
      now,
    };
    for (const maxSteps of [3, 100]) {
      const found = await grids({ ...request, maxSteps });
      expect(found.size).toBe(61);
      for (const [id, grid] of found)
        expect(gridTotal(grid, 'messagesIn')).toBe(id === 'brk_60' ? null : Number(id.slice(4)));
    }
  });
});

test('a history in SQLite is copied to PostgreSQL, once also if it is copied again', async () => {
  const file = join(temporaryFolder(), 'history.db');
  const source = new HistoryCore({ ...OPTIONS, database: new SqliteHistory({ file, minFreeBytes: 0 }) });
  onTestFinished(() => source.close());
  await source.open();
  const broker = brokerAt(START - HOUR);
  const samples = Array.from({ length: 100 }, (_, nth) => {
    broker.publish(nth);
    return broker.sample(START + nth * 10 * SECOND, nth > 0);
  });
  const gap = { from: START, to: START + 1, lost: 7, reason: 'QUEUE_FULL' } as const;
  await source.write([{ module: 'metrics', arrived: samples, gaps: [gap] }]);
  const now = START + HOUR;
  await source.maintain(now);
  const databaseUrl = await emptyDatabase(postgres);
  const { signal } = new AbortController();
  const rows = await copyHistory({ file, databaseUrl, signal });
  expect(rows).toBeGreaterThan(100);
  expect(await copyHistory({ file, databaseUrl, signal })).toBe(rows);
  const aborted = copyHistory({ file, databaseUrl, signal: AbortSignal.abort(new Error('stopped')) });
  await expect(aborted).rejects.toThrow('stopped');
  expect(await copyHistory({ file, databaseUrl, signal })).toBe(rows);

  const database = new PostgresqlHistory(databaseUrl);
  const target = new HistoryCore({ ...OPTIONS, database });
  onTestFinished(() => target.close());
  await target.open();
  const request = { brokers: ['brk_a'], from: START, to: now, maxSteps: 10, now: now + 3 * DAY };
  expect(await target.query('metrics', 'grids', request)).toEqual(await source.query('metrics', 'grids', request));
  expect(await gapsOf(database, 'metrics', START, now)).toEqual([gap]);
});

test('stored numbers are read as they were', () => {
  const number = fc.oneof(
    fc.constant(Number.NaN),
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.double({ min: 0, max: 1e9, noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(number, number, number, number, number)), fc.nat(900_000), (all, covered) => {
      const measured = nothingMeasured();
      for (const [metric, [a, b, c, sum, missed]] of all.slice(0, METRICS.length).entries()) {
        const [min, mean, max] = [a, b, c].some(Number.isNaN) ? [a, a, a] : [a, b, c].sort((x, y) => x - y);
        const increase = [sum, missed].map((one) => (Number.isInteger(one) ? one : Number.NaN));
        measured.set([mean ?? 0, min ?? 0, max ?? 0, ...increase], metric * 5);
      }
      const read = measuredFrom(bytesOf(measured, covered), covered);
      measured.forEach((value, nth) => {
        const isEdge = nth % 5 === 1 || nth % 5 === 2;
        // A counter that did not increase while nothing was measured need not say so.
        if (nth % 5 === 4 && value === 0) return;
        if (isEdge && !Number.isNaN(value)) expect(read[nth]).toBeCloseTo(value, -Math.log10(value + 1) + 5);
        else if (Number.isNaN(value)) expect(read[nth]).toBeNaN();
        else expect(Math.abs((read[nth] ?? -1) - value)).toBeLessThanOrEqual(value * 1e-9);
      });
    }),
  );
});
