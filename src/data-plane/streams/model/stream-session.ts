import type { ServiceError } from '../../../platform/errors.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';

export interface StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  /**
   * Delays the acknowledgement of the message. The broker receives it after every holder has called its returned
   * function once. Must be called before the listener returns. After a lost connection the broker redelivers the
   * messages that are still held.
   */
  hold(): () => void;
}

export interface ListenOptions {
  /** Called at most once when the subscription is granted, before `subscribe` resolves. */
  readonly onGranted?: () => void;
  readonly onRefused?: (error: ServiceError) => void;
}

/** The engine's access to the broker: MQTT connections, or the core of the embedded broker. */
export interface StreamSession {
  readonly status: LinkStatus;
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /**
   * Delivers live messages that match the filter, without retained messages, until stopped. The subscription survives
   * reconnects. A message that matches the filters of several listeners reaches each of them once.
   * Errors: NOT_ALLOWED, BROKER_REJECTED (the broker refused the filter), BROKER_UNREACHABLE, BROKER_TIMEOUT. After an
   * error there is no subscription.
   */
  subscribe(filter: string, listener: (message: StreamMessage) => void, options?: ListenOptions): Promise<Stop>;
  /**
   * Publishes without the retain flag. `done` is called once, possibly before this method returns, with `null` when the
   * message was sent (QoS 0) or acknowledged (QoS 1 and 2). Errors passed to `done`: NOT_ALLOWED, BROKER_REJECTED, and
   * BROKER_UNREACHABLE if the connection ended before the acknowledgement.
   */
  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void;
  pause(): void;
  resume(): void;
}
