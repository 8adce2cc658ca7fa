import { once } from 'node:events';
import { BroadcastChannel, Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

test('a thread that computes for 300 ms is reported as a stall of the event loop', async () => {
  const stalls = new BroadcastChannel('stalls');
  onTestFinished(() => stalls.close());
  const watch = new URL('./loop-watch.mjs', import.meta.url).href;
  const source = `await import('${watch}');
    setInterval(() => {}, 1_000);
    setTimeout(() => { const end = performance.now() + 300; while (performance.now() < end); }, 100);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [{ data }] = (await once(stalls as unknown as EventTarget, 'message')) as [MessageEvent<number>];
  // The thread may be interrupted meanwhile, which does not count.
  expect(data).toBeGreaterThan(100);
  expect(data).toBeLessThan(400);
});
