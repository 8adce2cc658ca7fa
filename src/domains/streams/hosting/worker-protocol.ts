import type { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import type { WorkerThread } from '../../../protocol/hosting/worker-thread.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import type { StreamReport } from '../model/stream-report.ts';
import type { StreamSessionOptions } from './mqtt-stream-session.ts';

/** What the service and the thread of the streams tell each other. Engines are told apart by numbers that are never used again. */
export interface EngineOptions {
  readonly brokerId: string;
  /** How to reach the broker. */
  readonly session: Omit<StreamSessionOptions, 'onFault' | 'iterationBatch'>;
  /** Of the broker's stored messages. */
  readonly folder: string;
  readonly maxBytes: number;
}

/** Methods that are passed on as they are. */
export type EngineMethod = 'put' | 'settled' | 'remove' | 'startReplay' | 'stopReplay' | 'clear' | 'report';
export type EngineAnswer<Method extends EngineMethod> = Awaited<ReturnType<StreamEngine[Method]>>;

/** Opens one. */
export interface EngineOrder {
  readonly engine: number;
  readonly options: EngineOptions;
}

export type EngineQuestion =
  | {
      readonly type: 'call';
      readonly engine: number;
      readonly method: EngineMethod;
      readonly args: readonly unknown[];
    }
  /** `forGood`: nothing is to wait at the broker. */
  | { readonly type: 'close'; readonly engine: number; readonly forGood: boolean };

export type EngineNews =
  /** It could not be opened, and there is nothing of it. */
  | { readonly type: 'failed'; readonly engine: number; readonly reason: string }
  | { readonly type: 'changed'; readonly engine: number; readonly id: string; readonly report: StreamReport };

export type EngineThread = WorkerThread<EngineOrder, EngineQuestion, EngineNews>;
export type EngineKeptThread = KeptThread<EngineOrder, EngineQuestion, EngineNews>;
