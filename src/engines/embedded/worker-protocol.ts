import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import type { Fault } from './core/faults.ts';
import type { RefusalCounts, RefusedBurst } from './listening/refused-connects.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';

export interface WorkerOptions {
  readonly id: string;
  readonly folder: string;
  readonly version: string;
  readonly listeners: readonly ListenerWanted[];
  readonly administrator: { readonly username: string; readonly password: string };
  readonly sysIntervalMs: number;
  readonly streamStorageBytes: number;
  readonly topicTreeBytes: number;
  readonly topicPayloads: boolean;
  /** Reason of repeated failures: the broker then searches for the stored record that causes them. */
  readonly suspicion?: string | undefined;
}

/** Refused CONNECTs since the last message, or the start (`seconds` is `null`) or end of a burst of log-ins. */
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
  /** `listeners` has the assigned ports. */
  | { readonly type: 'running'; readonly listeners: readonly ListenerWanted[] }
  | { readonly type: 'failed'; readonly reason: string; readonly stack: string }
  /** `log` is `null` if the same fault was logged within a second. */
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
  | { readonly type: 'topicPayloads'; readonly areStored: boolean };
