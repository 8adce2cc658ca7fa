import type { ListenerWanted } from '../../protocol/hosting/broker-engine.ts';
import type { Fault } from './core/faults.ts';
import type { RefusalMessage } from './listening/refused-connects.ts';
import type { LiveSettings } from './live-settings.ts';
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
  readonly settings: LiveSettings;
  /** Reason of repeated failures: the broker then searches for the stored record that causes them. */
  readonly suspicion?: string | undefined;
}

export type WorkerMessage =
  | RefusalMessage
  /** `listeners` has the assigned ports. */
  | { readonly type: 'running'; readonly listeners: readonly ListenerWanted[] }
  | { readonly type: 'failed'; readonly reason: string; readonly stack: string }
  | { readonly type: 'fault'; readonly kind: Fault['kind'] }
  /** Why the broker cannot store; `null`: it can again. */
  | { readonly type: 'diskFault'; readonly reason: string | null }
  | { readonly type: 'quarantined'; readonly record: QuarantinedRecord }
  | {
      readonly type: 'log';
      readonly level: 'warn' | 'error';
      readonly text: string;
      readonly reason: string;
      readonly stack?: string;
    }
  | { readonly type: 'closed' };

export type ServiceMessage =
  | { readonly type: 'close' }
  | { readonly type: 'settings'; readonly settings: LiveSettings };
