import { spawn } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { onTestFinished } from 'vitest';
import type { BrokerStore } from '../../../src/data-plane/broker/store/broker-store.ts';
import { ADMINISTRATOR } from './embedded.ts';

const BATCH = 10_000;

/** Retains a message on each topic. */
export function fill(
  { retained, journal }: BrokerStore,
  topics: readonly string[],
  payload: Buffer | string = 'x',
): void {
  for (const [index, topic] of topics.entries()) {
    retained.put({ cmd: 'publish', topic, payload, qos: 1, retain: true });
    if (index % BATCH === 0) journal.flush();
  }
  journal.flush();
}

/** Starts `mosquitto_sub`, which deletes each retained message that it gets before the first live message. */
export function removeRetained(port: number): void {
  const { username, password } = ADMINISTRATOR;
  const address = ['-h', '127.0.0.1', '-p', String(port), '-u', username, '-P', password];
  const options = ['-t', '#', '--remove-retained', '--retained-only'];
  const child = spawn('mosquitto_sub', [...address, ...options], { stdio: 'ignore' });
  onTestFinished(() => void child.kill());
}

setFlagsFromString('--expose-gc');
const collectGarbage: (options?: { type: 'minor' }) => void = runInNewContext('gc');

/**
 * Bytes of the heap, and outside of it, without garbage. Below `enough` with garbage included, none is collected: that
 * takes a second of processor time in a process that many files share.
 */
export async function memory(enough = 0): Promise<number> {
  for (let times = enough === 0 ? 1 : 4; ; times -= 1) {
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    const bytes = arrayBuffers + heapUsed;
    if (bytes < enough || times === 0) return bytes;
    collectGarbage();
    await setImmediate();
    // Buffers are released in another thread, and at the latest by the next collection.
    collectGarbage({ type: 'minor' });
  }
}
