import { spawn } from 'node:child_process';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { onTestFinished } from 'vitest';
import type { BrokerStore } from '../../../src/engines/embedded/store/broker-store.ts';
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
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes of the heap, and outside of it. Waits until what earlier tests left is freed. */
export async function memory(): Promise<number> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    collectGarbage();
    await setImmediate();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    const bytes = arrayBuffers + heapUsed;
    if (bytes > last - 10_000) return bytes;
    last = bytes;
  }
}
