import type { ListenerWanted } from '../brokers/broker-engine.ts';

/** What the service and a broker's worker thread tell each other. */
export interface WorkerOptions {
  /** As the service knows the broker. */
  readonly id: string;
  readonly folder: string;
  readonly version: string;
  readonly listeners: readonly ListenerWanted[];
  readonly administrator: { readonly username: string; readonly password: string };
  readonly sysIntervalMs: number;
  readonly streamStorageBytes: number;
  readonly topicTreeBytes: number;
  /** Whether payloads of its topics are kept. */
  readonly topicPayloads: boolean;
}

export type WorkerMessage =
  /** `listeners` with the ports they got. */
  | { readonly type: 'running'; readonly listeners: readonly ListenerWanted[] }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly text: string; readonly reason?: string }
  | { readonly type: 'closed' };

export type ServiceMessage =
  | { readonly type: 'close' }
  /** From now on. */
  | { readonly type: 'topicPayloads'; readonly areKept: boolean };
