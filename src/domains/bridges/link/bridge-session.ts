import type { ServiceError } from '../../../platform/errors.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

/** A message that came; the broker is told that it was taken when `taken` is called, and sends it again after a lost connection until then. */
export interface ArrivedMessage extends BridgeMessage {
  taken(): void;
}

export interface BridgeSubscribeOptions {
  readonly qos: 0 | 1 | 2;
  /** Retained messages are sent as the subscription begins (not again when the session is resumed), and the retain flag is kept (MQTT 5; with 3.1.1 brokers clear it on live messages). */
  readonly retained: boolean;
  readonly onRefused?: (error: ServiceError) => void;
}

/**
 * One connection of a bridge to one broker, for reading and publishing, in a session that outlives the process. It never
 * gets what it published itself (No Local [MQTT-3.8.3-3]; see Echoes for 3.1.1), which needs the one connection for both.
 * Nothing needs a pause: what is not taken is bounded by the receive maximum (MQTT 5) or the broker's own window; QoS 0 by the queue.
 */
export interface BridgeSession {
  readonly status: LinkStatus;
  /** 5 or 4 once connected, null before. */
  readonly protocolVersion: 4 | 5 | null;
  onStatus(listener: (status: LinkStatus) => void): Stop;
  /** Errors: INVALID settings. */
  open(): void;
  /** Kept across reconnects. Errors: NOT_ALLOWED, BROKER_REJECTED, BROKER_UNREACHABLE, BROKER_TIMEOUT: it is then not kept. */
  subscribe(
    filter: string,
    listener: (message: ArrivedMessage) => void,
    options: BridgeSubscribeOptions,
  ): Promise<Stop>;
  /**
   * `done` once: null when written (QoS 0) or acknowledged; NOT_ALLOWED, BROKER_REJECTED: never again; BROKER_UNREACHABLE: it is to be
   * sent again on the next connection. Messages go out in the order of the calls.
   */
  publish(message: BridgeMessage, done: (error: ServiceError | null) => void): void;
  close(options: { readonly discard: boolean }): Promise<void>;
}
