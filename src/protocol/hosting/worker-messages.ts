import type { ErrorCode } from '../../platform/errors.ts';

/** Messages to a worker thread that runs instances. Instances are addressed by numbers that are never reused. */
export type ToWorker<Setup> =
  | { readonly type: 'create'; readonly instance: number; readonly setup: Setup }
  | {
      readonly type: 'call';
      readonly call: number;
      readonly instance: number;
      readonly method: string;
      readonly args: readonly unknown[];
    }
  | { readonly type: 'close'; readonly call: number; readonly instance: number; readonly discard: boolean }
  /** All instances are closed next. */
  | { readonly type: 'closing' }
  | { readonly type: 'exit' };

export type FromWorker<Event> =
  | { readonly type: 'result'; readonly call: number; readonly value: unknown }
  | { readonly type: 'error'; readonly call: number; readonly error: WorkerError }
  | { readonly type: 'event'; readonly instance: number; readonly event: Event }
  | { readonly type: 'failed'; readonly instance: number; readonly reason: string }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly fields: object; readonly text: string };

/** A ServiceError: structured cloning keeps only the message of an Error. */
export interface WorkerError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly info?: Readonly<Record<string, unknown>>;
}

export type Callable<Api> = { readonly [Method in keyof Api]: (...args: never[]) => unknown };
