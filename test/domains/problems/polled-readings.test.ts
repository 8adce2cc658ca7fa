import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import { PolledReadings } from '../../../src/domains/problems/sources/polled-readings.ts';

test('readings of many brokers that are due at once leave time for other events', async () => {
  const brokers = Array.from({ length: 100 }, (_, n) => ({ id: `brk_${n}` }) as BrokerRecord);
  let begun = 0;
  const readings = new PolledReadings({
    everyMs: 60_000,
    read: async ({ id }) => {
      begun += 1;
      for (const until = performance.now() + 1; performance.now() < until; );
      return id;
    },
  });
  readings.refresh(brokers);
  readings.refresh(brokers);
  await nextIteration();
  await nextIteration();
  expect(begun).toBeLessThan(50);
  await expect.poll(() => brokers.filter(({ id }) => readings.of(id) === id).length).toBe(100);
  expect(begun).toBe(100);
});
