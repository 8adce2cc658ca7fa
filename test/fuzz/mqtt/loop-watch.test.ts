import { once } from 'node:events';
import { BroadcastChannel, Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

test('a thread that uses 300 ms of processor time is reported as a stall of the event loop', async () => {
  const stalls = new BroadcastChannel('stalls');
  onTestFinished(() => stalls.close());
  const worker = new Worker(new URL('./busy-thread.mjs', import.meta.url));
  onTestFinished(async () => {
    await worker.terminate();
  });
  let data = 0;
  // The start of a thread may be a stall, too.
  while (data < 150) [{ data }] = (await once(stalls as unknown as EventTarget, 'message')) as [MessageEvent<number>];
  expect(data).toBeGreaterThan(250);
  expect(data).toBeLessThan(400);
});
