import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import { PolledReadings } from '../../../src/domains/problems/sources/polled-readings.ts';

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
