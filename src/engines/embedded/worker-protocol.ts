import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import type { Fault } from './core/faults.ts';
import type { RefusalCounts, RefusedBurst } from './listening/refused-connects.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';

/** What the worker thread of a broker is started with. */
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
  /** Whether payloads of its topics are stored. */
  readonly topicPayloads: boolean;
  /** The reason by which it ended repeatedly soon after its start: the record at fault is looked for. */
  readonly suspicion?: string | undefined;
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
  | { readonly type: 'close' }
  /** From now on. */
  | { readonly type: 'topicPayloads'; readonly areStored: boolean };
