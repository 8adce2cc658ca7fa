import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { expect, onTestFinished, test, vi } from 'vitest';
import { returnMemory } from '../../../src/app/cli/v8-flags.ts';

const MIB = 1_048_576;

test('memory of work that is over is returned to the system once no link connects, although the process goes on to allocate', async () => {
  let [isConnecting, checks] = [true, 0];
  const stop = returnMemory(() => 0, {
    isConnecting: () => {
      checks += 1;
      return isConnecting;
    },
    checkMs: 200,
    shrinkMs: 60_000,
  });
  let work: object[] = [];
  const timer = setInterval(() => {
    for (let n = 0; n < 20_000; n += 1) work[n % 100] = { n };
  }, 5);
  onTestFinished(() => {
    clearInterval(timer);
    stop();
  });
  work = Array.from({ length: 4_000_000 }, (_, n) => ({ n: `${n}` }));
  const most = process.memoryUsage().heapTotal;
  work = [];
  const checked = checks;
  await vi.waitUntil(() => checks > checked + 20, { timeout: 60_000, interval: 100 });
  expect(process.memoryUsage().heapTotal).toBeGreaterThan(most - 150 * MIB);
  isConnecting = false;
  await expect
    .poll(() => process.memoryUsage().heapTotal, { timeout: 60_000, interval: 500 })
    .toBeLessThan(most - 150 * MIB);
  setFlagsFromString('--no-optimize-for-size');
});

test('the young generation of a process with many links does not grow to its default size', async () => {
  onTestFinished(returnMemory(() => 1_000));
  const survivors: object[][] = [];
  for (let round = 0; round < 200; round += 1) {
    survivors[round % 8] = Array.from({ length: 20_000 }, (_, n) => ({ n }));
    await nextTurn();
  }
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  expect(young?.space_size).toBeLessThan(40 * MIB);
});

test('while links connect, the garbage of a heap that grows is collected less often', async () => {
  let isConnecting = false;
  onTestFinished(returnMemory(() => 1_000, { isConnecting: () => isConnecting }));
  let count = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) count += Number(kindOf(entry) === constants.NODE_PERFORMANCE_GC_MAJOR);
  });
  observer.observe({ entryTypes: ['gc'] });
  onTestFinished(() => observer.disconnect());
  const collections = async () => {
    count = 0;
    const heap: object[][] = [];
    while (heap.length < 120) {
      heap.push(Array.from({ length: 20_000 }, (_, n) => ({ n })));
      await nextTurn();
    }
    return count;
  };
  const usual = await collections();
  isConnecting = true;
  await expect.poll(() => collections(), { timeout: 60_000 }).toBeLessThan(usual * 0.7);
});

/** The types of Node leave out what entries of garbage collections have. */
const kindOf = (entry: object): unknown => (entry as { readonly detail?: { readonly kind?: number } }).detail?.kind;
