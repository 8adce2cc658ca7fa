import { Worker } from 'node:worker_threads';
import type { ServiceMessage, WorkerMessage, WorkerOptions } from '../worker-protocol.ts';

/** The worker thread of one embedded broker, from its start to its end. */
export interface BrokerThread {
  /** Resolves when the thread has ended, for whatever reason. */
  readonly ended: Promise<ThreadEnd>;
  /** Does nothing after the end. */
  send(message: ServiceMessage): void;
  /** Ends the thread immediately. */
  terminate(): void;
}

export interface ThreadEnd {
  /** For people. */
  readonly reason: string;
  /** Of the error that ended it; empty if none is known. */
  readonly stack: string;
}

export interface BrokerThreadOptions {
  /** Compiled. */
  readonly workerUrl: URL;
  readonly options: WorkerOptions;
  /** Heap limit in MiB. The thread ends beyond it. */
  readonly maxHeapMegabytes: number;
  readonly onMessage: (message: WorkerMessage) => void;
}

export function startBrokerThread({
  workerUrl,
  options,
  maxHeapMegabytes,
  onMessage,
}: BrokerThreadOptions): BrokerThread {
  const thread = new Worker(workerUrl, {
    name: `broker ${options.id}`,
    workerData: options,
    // It needs neither, and what the process was given may be secret or meant for the main thread.
    env: {},
    execArgv: [],
    // A small young generation keeps an idle broker small; measured throughput does not change.
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: 16 },
  });
  const ended = new Promise<ThreadEnd>((resolve) => {
    let reason = '';
    let stack = '';
    thread.on('error', (error) => {
      reason = error.message;
      stack = error.stack ?? '';
    });
    thread.once('exit', (code) => resolve({ reason: reason || `the broker's thread ended with code ${code}`, stack }));
  });
  thread.on('message', (message: WorkerMessage) => onMessage(message));
  return { ended, send: (message) => thread.postMessage(message), terminate: () => void thread.terminate() };
}
