/** A client that stops reading under load: its memory in the service, and the events that it gets afterwards. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { startGraphqlServer } from '../server.ts';
import { createTicks, subscriber, type Transport } from './subscribers.ts';

const COUNTER = 'subscription { counter { kind n missed padding } }';
const PER_SECOND = 5_000;
/** Maximum time until the kernel's buffers of two sockets are full. */
const FILLING_MS = 500;

/** Reachable memory in bytes. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Publishes at the rate for this time, even if the event loop is late. */
function publish(tick: () => void, ms: number): Promise<void> {
  const start = performance.now();
  let published = 0;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const elapsed = Math.min(performance.now() - start, ms);
      for (; published < (elapsed * PER_SECOND) / 1_000; published++) tick();
      if (elapsed < ms) return;
      clearInterval(timer);
      resolve();
    }, 5);
  });
}

export async function expectFlatMemoryAndGap(transport: Transport, stallMs: number): Promise<void> {
  const { ticks, tick } = createTicks();
  const { port } = await startGraphqlServer({ ticks });
  const slow = await subscriber(transport, port, COUNTER);
  await slow.until(({ data }) => data?.counter.kind === 'SNAPSHOT');
  slow.pause();
  await publish(tick, FILLING_MS);
  const before = memory();
  await publish(tick, stallMs);
  const grown = memory() - before;
  const published = ((FILLING_MS + stallMs) * PER_SECOND) / 1_000;
  // Unsent events of the stall would take 10 kB each.
  expect(grown).toBeLessThan(3_000_000);

  slow.resume();
  tick();
  await slow.until(({ data }) => data?.counter.n === published + 1);
  let held = -1;
  let missed = 0;
  let isGap = false;
  for (const { data } of slow.results) {
    const { kind, n, missed: leftOut } = data.counter;
    if (kind === 'GAP') missed += leftOut;
    // Changes between the GAP and the snapshot are in the snapshot.
    else if (kind === 'SNAPSHOT') expect(n).toBeGreaterThan(held);
    else expect(n).toBe(held + 1);
    expect(kind === 'SNAPSHOT').toBe(isGap || held === -1);
    isGap = kind === 'GAP';
    held = n ?? held;
  }
  expect(held).toBe(published + 1);
  // Most of it, because sockets of one machine buffer some megabytes.
  expect(missed).toBeGreaterThan(published / 2);
}
