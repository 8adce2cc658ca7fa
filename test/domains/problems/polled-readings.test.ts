import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import { CHECK_MS, problemKinds, readEveryMs } from '../../../src/domains/problems/model/problem-kinds.ts';
import { PolledReadings } from '../../../src/domains/problems/sources/polled-readings.ts';
import { RecentGrowth } from '../../../src/domains/problems/sources/recent-growth.ts';

test('readings of many brokers leave time for other events, and are at most 50 in a second', async () => {
  const brokers = Array.from({ length: 1_000 }, (_, n) => ({ id: `brk_${n}` }) as BrokerRecord);
  let begun = 0;
  const readings = new PolledReadings({
    everyMs: 1,
    read: async ({ id }) => {
      begun += 1;
      for (const until = performance.now() + 0.1; performance.now() < until; );
      return id;
    },
  });
  readings.refresh(brokers);
  readings.refresh(brokers);
  await nextIteration();
  await nextIteration();
  expect(begun).toBeLessThan(500);
  await expect.poll(() => brokers.filter(({ id }) => readings.of(id) === id).length).toBe(1_000);
  readings.refresh(brokers);
  await nextIteration();
  await nextIteration();
  expect(begun).toBe(1_000);
});

test('a broker is read as often as documented, also if checks come a moment early', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const sources = problemKinds.filter((kind) => readEveryMs(kind) > CHECK_MS);
  expect(sources).toContain('CLUSTER_NODE_DOWN');
  for (const kind of sources) {
    let count = 0;
    const readings = new PolledReadings({
      everyMs: readEveryMs(kind),
      read: async () => {
        count += 1;
      },
    });
    for (let check = 0; check < 100; check += 1) {
      readings.refresh([{ id: 'brk_1' } as BrokerRecord]);
      await nextIteration();
      await nextIteration();
      vi.advanceTimersByTime(check % 2 === 0 ? CHECK_MS - 1 : CHECK_MS);
    }
    expect([kind, count]).toEqual([kind, (100 * CHECK_MS) / readEveryMs(kind)]);
  }
});

test('in a process with 5,000 brokers, a counter that grows is seen to grow within half a minute, and without a pause', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const brokers = Array.from({ length: 5_000 }, (_, n) => ({ id: `brk_${n}` }) as BrokerRecord);
  let count = 0;
  const readings = new PolledReadings({
    everyMs: 4_000,
    read: async ({ id }) => {
      count += 1;
      if (id === 'brk_0') growth.note('failed', count);
    },
  });
  const growth = new RecentGrowth(() => readings.windowMs(10_000));
  const isSeen: boolean[] = [];
  for (let second = 0; second < 200; second += 2) {
    readings.refresh(brokers);
    await nextIteration();
    await nextIteration();
    isSeen.push(growth.of('failed') > 0);
    vi.advanceTimersByTime(2_000);
  }
  const first = isSeen.indexOf(true);
  expect(first).toBeGreaterThan(0);
  expect(first * 2).toBeLessThanOrEqual(30);
  expect(isSeen.slice(first)).not.toContain(false);
});
