import { fork } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { ListenerWanted } from '../../src/brokers/broker-engine.ts';
import { workerUrl } from '../support/workers.ts';
import { listener } from './embedded.ts';

export interface BrokerProcess {
  readonly url: string;
  readonly port: number;
  /** All of them; `port` is the first one's. */
  readonly listeners: readonly ListenerWanted[];
  /** What was acknowledged before the broker ended; null otherwise (mqtt.js leaves some promises open when a socket ends). */
  whileAlive<T>(work: Promise<T>): Promise<T | null>;
  kill(): Promise<void>;
}

/** An embedded broker of the build in a process of its own, which is killed when the test ends, or before. `onPort` 0: any. */
export async function startBrokerProcess(
  folder: string,
  onPort = 0,
  more: readonly ListenerWanted[] = [],
): Promise<BrokerProcess> {
  const wanted = JSON.stringify([listener({ port: onPort }), ...more]);
  const args = [folder, wanted, workerUrl('embedded/worker.js').href];
  const child = fork(new URL('./broker-process.mjs', import.meta.url), args, { execArgv: [] });
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const ready = once(child, 'message').then(([message]) => message as readonly ListenerWanted[]);
  const listeners = await Promise.race([ready, exited.then(() => Promise.reject(new Error('the broker ended')))]);
  const ended = exited.then(() => null);
  const whileAlive = <T>(work: Promise<T>) => Promise.race([work.catch(() => null), ended]);
  const port = listeners[0]?.port ?? 0;
  return { port, listeners, url: `mqtt://127.0.0.1:${port}`, kill, whileAlive };
}
