import type { TrustedConnection } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import type { BridgeConnectionState } from '../model/bridge-status.ts';

/** What every connection to a sink has in its configuration. */
export interface SinkConnectionConfig extends TrustedConnection {
  /** Unique among the connections of the bridge. */
  readonly name: string;
  /** Default true. */
  readonly active?: boolean;
  readonly batch?: BatchConfig;
  readonly queue?: QueueConfig;
}

export interface BatchConfig {
  readonly maxMessages?: number;
  readonly maxBytes?: number;
  /** How long an incomplete batch waits for more. */
  readonly maxDelayMs?: number;
}

export interface QueueConfig {
  readonly maxMessages?: number;
  readonly maxBytes?: number;
}

export type BatchBounds = Required<BatchConfig>;

/** Which topics of the broker go into a sink; the QoS is the most that is asked for. */
export interface SinkTopic {
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
}

/** What became of a batch that a sink took. */
export interface Delivered {
  /** Of these so many did not get there and never will. */
  readonly rejected: number;
  /** Why the last of them did not. */
  readonly reason: string | null;
}

/** Where one connection of a bridge leads to. One call at a time. */
export interface Sink {
  /** Connects where there is a connection, and looks whether all is there that is needed. Errors: SinkFailure. */
  open(): Promise<void>;
  /**
   * Resolves when none of these is to be delivered again. Errors: SinkFailure: nothing of it is there, as far as can be known, and all
   * come again, in the same batch. BadBatch: nothing of it is there because of some of its messages; fewer come again.
   */
  deliver(batch: readonly BridgeMessage[]): Promise<Delivered>;
  /** The only message of a bad batch, and why it was one: sets it aside where there is a place for it. Errors: SinkFailure. */
  setAside(message: BridgeMessage, reason: string): Promise<Delivered>;
  /** The connection was lost while nothing was delivered. */
  onLost(listener: (failure: SinkFailure) => void): void;
  /** Safe to call twice, and while a call is under way, which then fails. It can be opened again. */
  close(): Promise<void>;
}

/** Nothing can be delivered now, whatever the message. */
export class SinkFailure extends Error {
  override readonly name = 'SinkFailure';
  readonly state: Extract<BridgeConnectionState, 'UNAUTHORISED' | 'UNREACHABLE' | 'FAILED'>;
  /** Milliseconds that the other side asked to be left alone for. */
  readonly retryAfterMs: number | undefined;
  /** No attempt until the configuration changes. */
  readonly isFinal: boolean;
  /** A smaller batch may do. */
  readonly isTooMuch: boolean;

  constructor(
    state: SinkFailure['state'],
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined;
      readonly isFinal?: boolean;
      readonly isTooMuch?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.state = state;
    this.retryAfterMs = options.retryAfterMs;
    this.isFinal = options.isFinal ?? false;
    this.isTooMuch = options.isTooMuch ?? false;
  }
}

/** What a connection failed with: a host with several addresses fails with one error for each, and none of its own words. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Some message of the batch cannot be delivered, and it is not known which. */
export class BadBatch extends Error {
  override readonly name = 'BadBatch';
}
