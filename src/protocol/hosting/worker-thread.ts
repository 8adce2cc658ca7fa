import { Worker } from 'node:worker_threads';
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

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
const STEADY_MS = 60_000;

/** 250 ms, doubled to at most 30 s; 250 ms again after a run of more than a minute. */
export class RestartBackoff {
  #pauseMs = FIRST_PAUSE_MS;

  static isSteady(ranMs: number): boolean {
    return ranMs > STEADY_MS;
  }

  next(ranMs: number): number {
    const pauseMs = RestartBackoff.isSteady(ranMs) ? FIRST_PAUSE_MS : this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    return pauseMs;
  }
}
