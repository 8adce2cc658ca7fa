import type { ListenerWanted } from '../brokers/broker-engine.ts';
import type { Fault } from './core/faults.ts';
import type { RefusalCounts, RefusedBurst } from './listening/refused-connects.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';

/** What makes a broker a node of a cluster: it shares sessions, queues, retained messages and wills with the other nodes. */
export interface ClusterOptions {
  readonly clusterId: string;
  /** From 1; another one for each node of the cluster, and kept while it is one. */
  readonly nodeId: number;
  /** FULL: what is acknowledged is on this node's disk. HP: it is in the cluster's log, and on this node's disk soon after. */
  readonly mode: 'FULL' | 'HP';
  /** May hold a password: never in a log line or an error. */
  readonly redisUrl: string;
  /** What it has is what the cluster begins with. The others take that, and forget what they had. */
  readonly isSeed: boolean;
}

/** What the worker of a broker is started with: a thread, or a process of its own. */
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
  /** The reason by which it ended repeatedly soon after its start: the record at fault is looked for. */
  readonly suspicion?: string | undefined;
  /** Missing: a broker by itself. */
  readonly cluster?: ClusterOptions | undefined;
}

/** CONNECTs that were refused since the last message, or a burst of refused log-ins that begins (`seconds` is `null`) or has ended. */
export type RefusalMessage =
  | { readonly type: 'refused'; readonly counts: RefusalCounts }
  | {
      readonly type: 'refusedBurst';
      readonly burst: RefusedBurst;
      readonly count: number;
      readonly seconds: number | null;
    };

export type WorkerMessage =
  | RefusalMessage
  /** `listeners` with the ports they got. */
  | { readonly type: 'running'; readonly listeners: readonly ListenerWanted[] }
  | { readonly type: 'failed'; readonly reason: string; readonly stack: string }
  /** An exception that ended a connection, or lost a message, and nothing else. `log` is null where it was logged a moment before. */
  | {
      readonly type: 'fault';
      readonly kind: Fault['kind'];
      readonly log: { readonly text: string; readonly reason: string; readonly stack: string } | null;
    }
  | { readonly type: 'quarantined'; readonly record: QuarantinedRecord }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly text: string; readonly reason?: string }
  | { readonly type: 'closed' };

export type ServiceMessage =
  /** The first one, to a process; a thread has its options already. */
  | { readonly type: 'start'; readonly options: WorkerOptions }
  | { readonly type: 'close' }
  /** From now on. */
  | { readonly type: 'topicPayloads'; readonly areKept: boolean };
