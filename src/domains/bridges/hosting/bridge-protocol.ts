import type { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import type { WorkerThread } from '../../../protocol/hosting/worker-thread.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { BridgeOptions } from './bridge-options.ts';

/** What can be told to another thread. */
export type BridgePlace = Omit<BridgeOptions, 'onFault' | 'storage'>;

/** What the service and the thread of the bridges tell each other. Bridges are told apart by numbers that are never used again. Opens one. */
export interface BridgeOrder {
  readonly bridge: number;
  readonly place: BridgePlace;
}

export type BridgeQuestion =
  /** Answered by the status of its connections. */
  | { readonly type: 'apply'; readonly bridge: number; readonly config: unknown }
  /** `forGood`: nothing is to wait at any broker or on disk. */
  | { readonly type: 'close'; readonly bridge: number; readonly forGood: boolean };

export interface BridgeNews {
  readonly bridge: number;
  readonly status: readonly BridgeConnectionStatus[];
}

export type BridgeWorkerThread = WorkerThread<BridgeOrder, BridgeQuestion, BridgeNews>;
export type BridgeKeptThread = KeptThread<BridgeOrder, BridgeQuestion, BridgeNews>;
