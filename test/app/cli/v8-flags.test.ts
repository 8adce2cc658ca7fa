import { setFlagsFromString } from 'node:v8';
import { expect, onTestFinished, test } from 'vitest';
import { returnMemory } from '../../../src/app/cli/v8-flags.ts';

const MIB = 1_048_576;

test('memory of work that is over is returned to the system, although the process goes on to allocate', async () => {
  const stop = returnMemory(() => 0, { checkMs: 200, shrinkMs: 60_000 });
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
  await expect
    .poll(() => process.memoryUsage().heapTotal, { timeout: 60_000, interval: 500 })
    .toBeLessThan(most - 150 * MIB);
  setFlagsFromString('--no-optimize-for-size');
});
