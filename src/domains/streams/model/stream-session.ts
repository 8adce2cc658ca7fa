import type { ServiceError } from '../../../platform/errors.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';

/** A message on its way through a stream. */
export interface StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  /**
   * The broker is told that the message was taken only when everybody who held it has called the function that `hold` returned, once.
   * To be asked for before the listener returns. What is still held when the connection is lost comes again.
   */
  hold(): () => void;
}

export interface ListenOptions {
  /** It is granted: called, if at all, before the messages are told that come after the broker's answer, and before `subscribe` resolves. */
  readonly onGranted?: () => void;
  readonly onRefused?: (error: ServiceError) => void;
}

/** What the engine knows of the broker: beside a remote one an MQTT connection of its own, inside the embedded one its core. */
export interface StreamSession {
  readonly status: LinkStatus;
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /**
   * Live messages that match the filter, never retained ones that the broker kept, until stopped; across reconnects. A message that
   * matches the filters of several listeners reaches each of them once.
   * Errors: NOT_ALLOWED, BROKER_REJECTED (the broker refused the filter), BROKER_UNREACHABLE, BROKER_TIMEOUT: it is then not kept.
   */
  subscribe(filter: string, listener: (message: StreamMessage) => void, options?: ListenOptions): Promise<Stop>;
  /**
   * Never retained. `done` is called once, maybe before this returns: with null when it was written (QoS 0) or acknowledged (QoS 1
   * and 2); with NOT_ALLOWED, BROKER_REJECTED, or BROKER_UNREACHABLE when the connection ended before the answer came.
   */
  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void;
  /** Nothing more is read from the broker until `resume`: for when its messages come faster than they can be worked off. */
  pause(): void;
  resume(): void;
}
