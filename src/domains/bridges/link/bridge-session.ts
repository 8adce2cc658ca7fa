import type { ServiceError } from '../../../platform/errors.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

/** A message from the broker. `taken` acknowledges it; until then the broker sends it again after a reconnect. */
export interface ArrivedMessage extends BridgeMessage {
  taken(): void;
}

export interface BridgeSubscribeOptions {
  readonly qos: 0 | 1 | 2;
  /**
   * Whether retained messages are sent when the subscription starts (not when the session is resumed), with their
   * retain flag (MQTT 5; with 3.1.1 brokers clear it on live messages).
   */
  readonly retained: boolean;
  readonly onRefused?: (error: ServiceError) => void;
}

/**
 * One connection of a bridge to one broker, for reading and publishing, in a persistent session. It never receives its
 * own messages (No Local [MQTT-3.8.3-3]; see Echoes for 3.1.1), which requires one connection for both. It needs no
 * pause: the Receive Maximum (MQTT 5) or the broker's window bounds unacknowledged messages, and the queue bounds QoS
 * 0.
 */
export interface BridgeSession {
  readonly status: LinkStatus;
  /** 5 or 4 once connected, `null` before. */
  readonly protocolVersion: 4 | 5 | null;
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /** Errors: INVALID settings. */
  open(): void;
  /**
   * Remains across reconnects. Errors: NOT_ALLOWED, BROKER_REJECTED, BROKER_UNREACHABLE, BROKER_TIMEOUT; the filter is
   * then not subscribed.
   */
  subscribe(
    filter: string,
    listener: (message: ArrivedMessage) => void,
    options: BridgeSubscribeOptions,
  ): Promise<Stop>;
  /**
   * Calls `done` once: `null` when sent (QoS 0) or acknowledged; NOT_ALLOWED or BROKER_REJECTED for a permanent
   * refusal; BROKER_UNREACHABLE if it must be sent again on the next connection. Messages are sent in the order of the
   * calls.
   */
  publish(message: BridgeMessage, done: (error: ServiceError | null) => void): void;
  close(options: { readonly discard: boolean }): Promise<void>;
}
