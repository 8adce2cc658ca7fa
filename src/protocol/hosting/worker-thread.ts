import { Worker } from 'node:worker_threads';
import type { BackoffTimes } from '../../platform/scheduling/backoff.ts';
import { connectionAttempts } from '../mqtt/connection-attempts.ts';

interface WorkerThreadOptions<Received> {
  readonly name: string;
  readonly workerUrl: URL;
  readonly workerData?: unknown;
  readonly maxHeapMegabytes: number;
  readonly maxYoungMegabytes: number;
  readonly onMessage: (message: Received) => void;
}

export interface ThreadExit {
  readonly reason: string;
  readonly stack: string;
}

export interface WorkerThread<Sent> {
  /** Resolves after the last message of the thread. */
  readonly exited: Promise<ThreadExit>;
  send(message: Sent): void;
  terminate(): void;
}

export function startWorkerThread<Sent, Received>(options: WorkerThreadOptions<Received>): WorkerThread<Sent> {
  const { name, workerUrl, workerData, maxHeapMegabytes, maxYoungMegabytes, onMessage } = options;
  const worker = new Worker(workerUrl, {
    name,
    workerData,
    // The thread needs neither, and the environment and arguments of the process may contain secrets.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: maxYoungMegabytes },
  });
  const { threadId } = worker;
  const exited = new Promise<ThreadExit>((resolve) => {
    let reason = '';
    let stack = '';
    worker.on('error', (error) => {
      reason = error.message;
      stack = error.stack ?? '';
    });
    worker.once('exit', (code) => {
      connectionAttempts.threadExited(threadId);
      resolve({ reason: reason || `the thread exited with code ${code}`, stack });
    });
  });
  worker.on('message', onMessage);
  return { exited, send: (message) => worker.postMessage(message), terminate: () => void worker.terminate() };
}

/** Of the restarts of a thread or a process. */
export const RESTART_BACKOFF = { firstMs: 250, longestMs: 30_000, steadyMs: 60_000 } as const satisfies BackoffTimes;
