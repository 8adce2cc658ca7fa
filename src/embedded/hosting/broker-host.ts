import type { ServiceMessage, WorkerMessage, WorkerOptions } from '../worker-protocol.ts';

/** What one embedded broker runs in, from its start to its end. */
export interface BrokerHost {
  /** Of a process of its own; null: it is a thread of this one. */
  readonly pid: number | null;
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<HostEnd>;
  /** Nothing happens where it has ended. */
  send(message: ServiceMessage): void;
  /** Ends it, whatever it is at. */
  terminate(): void;
}

export interface HostEnd {
  /** For people. */
  readonly reason: string;
  /** The last that it wrote to standard error; empty: nothing. */
  readonly output: string;
  /** Of the error that ended it; empty: none is known. */
  readonly stack: string;
}

export interface HostOptions {
  /** Compiled. */
  readonly workerUrl: URL;
  readonly options: WorkerOptions;
  /** Heap limit in MiB, beyond which it ends. */
  readonly maxHeapMegabytes: number;
  readonly onMessage: (message: WorkerMessage) => void;
}
