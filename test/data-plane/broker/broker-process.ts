import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { ListenerWanted, RunningState } from '../../../src/protocol/hosting/broker-engine.ts';
import { programUrl } from '../../support/programs.ts';
import { listener } from './embedded.ts';

export const EMBEDDED_WORKER = programUrl('src/data-plane/broker/worker.ts');

/** What `broker-process.mjs` sends. */
export type BrokerProcessMessage =
  | { readonly type: 'running'; readonly listeners: readonly ListenerWanted[] }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'state'; readonly state: RunningState; readonly error?: string }
  /** The worker thread posted to the channel `stalls`. Milliseconds. */
  | { readonly type: 'stall'; readonly ms: number }
  | {
      readonly type: 'log';
      readonly level: 'warn' | 'error';
      readonly fields: { readonly reason?: string; readonly stack?: string };
      readonly text: string;
    };

interface BrokerProcess {
  readonly url: string;
  readonly port: number;
  /** All of them; `port` is the first one's. */
  readonly listeners: readonly ListenerWanted[];
  /** What was acknowledged before the broker ended; `null` otherwise: mqtt.js leaves some promises open. */
  whileAlive<T>(work: Promise<T>): Promise<T | null>;
  kill(): Promise<void>;
}

/** A process with an embedded broker of the build. It sends `BrokerProcessMessage`. `worker`: the thread to run. */
export function forkBroker(
  folder: string,
  listeners: readonly ListenerWanted[],
  worker = EMBEDDED_WORKER,
): ChildProcess {
  const args = [folder, JSON.stringify(listeners), worker.href];
  // The log lines are sent, too.
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const;
  return fork(programUrl('test/data-plane/broker/broker-process.mjs'), args, { execArgv: [], stdio: [...stdio] });
}

/** Resolves when the broker listens. Rejects if it cannot start, or its process ended. */
export function runningListeners(child: ChildProcess): Promise<readonly ListenerWanted[]> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('the broker ended')));
    child.on('message', (message: BrokerProcessMessage) => {
      if (message.type === 'running') resolve(message.listeners);
      else if (message.type === 'failed') reject(new Error(message.reason));
    });
  });
}

/** An embedded broker of the build in its own process, which is killed at the end of the test. `onPort` 0: any port. */
export async function startBrokerProcess(
  folder: string,
  onPort = 0,
  more: readonly ListenerWanted[] = [],
): Promise<BrokerProcess> {
  const child = forkBroker(folder, [listener({ port: onPort }), ...more]);
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const listeners = await runningListeners(child);
  const ended = exited.then(() => null);
  const whileAlive = <T>(work: Promise<T>) => Promise.race([work.catch(() => null), ended]);
  const port = listeners[0]?.port ?? 0;
  return { port, listeners, url: `mqtt://127.0.0.1:${port}`, kill, whileAlive };
}
