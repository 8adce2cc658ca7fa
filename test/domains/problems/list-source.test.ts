import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { BrokerCache, BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../../src/domains/brokers/broker-runtimes.ts';
import { certainAfterMs, readEveryMs } from '../../../src/domains/problems/model/problem-kinds.ts';
import { thresholdsOf } from '../../../src/domains/problems/model/problem-thresholds.ts';
import { listSource } from '../../../src/domains/problems/sources/client-source.ts';

test('a list is incomplete after two counts of the broker, not after one that was taken while a client connected', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const broker = { id: 'brk_1', name: 'plant' } as BrokerRecord;
  let complete = true;
  const controls = {
    known: () => ({ provider: 'GATEWAY' }),
    call: async () => ({ totalCount: 1, clients: [], complete, incompleteReason: 'one is missing' }),
  };
  const source = listSource({
    runtimes: { isConnected: () => true, find: () => ({ controls }) } as unknown as BrokerRuntimes,
    brokers: { all: () => [broker] } as unknown as BrokerCache,
  });
  /** How many seconds until the source has a fact, within half a minute; `null` if it has none. */
  let numUnsure = 0;
  const firstFact = async (isComplete: (second: number) => boolean) => {
    for (let second = 0; second <= 30; second += 2) {
      complete = isComplete(second);
      await source.refresh?.();
      await nextIteration();
      await nextIteration();
      const facts = source.of(broker, thresholdsOf(null));
      if (Array.isArray(facts) && facts.length === 1) return second;
      if (facts === null) numUnsure += 1;
      vi.advanceTimersByTime(2_000);
    }
    return null;
  };
  expect(await firstFact((second) => second < 4 || second >= 14)).toBeNull();
  numUnsure = 0;
  const second = await firstFact(() => false);
  // Until it is certain, a problem of before the start remains open.
  expect(numUnsure).toBe((second ?? 0) / 2);
  // As docs/problems.md states it, with a reading before and the comparison after the last one.
  const leastMs = certainAfterMs('LIST_INCOMPLETE');
  expect(second).toBeGreaterThanOrEqual(leastMs / 1_000);
  expect(second).toBeLessThanOrEqual((leastMs + 2 * readEveryMs('LIST_INCOMPLETE')) / 1_000);
});
