import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

export interface QueueBounds {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/** A message that was taken from the queue, until it is settled. */
export interface QueueEntry {
  readonly message: BridgeMessage;
}

/**
 * The messages of one direction of a connection that wait for delivery, in order.
 * While delivery keeps up, messages are in memory only, and acknowledged when they are settled. Otherwise (delivery
 * stopped, or more messages than a small window wait) they are written to disk and acknowledged then, so that the limit
 * of the broker's own queue does not apply (1,000 messages in Mosquitto, which then drops). Messages on disk survive
 * the process. If the queue is full, new messages are dropped, acknowledged and counted.
 */
export interface BridgeQueue {
  /**
   * `taken` is called once, when the message was delivered, written to disk or dropped. It is then acknowledged to the
   * broker.
   */
  push(message: BridgeMessage, taken: () => void): void;
  /** Takes the oldest messages, at most `maxMessages` and `maxBytes`, but at least one if there is any. */
  take(maxMessages: number, maxBytes: number): readonly QueueEntry[];
  /** The message was delivered, or never will be. */
  settle(entry: QueueEntry): void;
  /** The connection was lost: messages that were taken and not settled are returned again, in order. */
  restore(): void;
  /** Whether messages are being delivered. While not, new messages are written to disk. */
  setDelivering(isDelivering: boolean): void;
  /** Notifies when the empty queue gets a message. */
  onReady(listener: () => void): Stop;
  readonly length: number;
  readonly bytes: number;
  readonly dropped: number;
  setBounds(bounds: QueueBounds): void;
  /** `discard`: deletes the messages on disk. */
  close(options: { readonly discard: boolean }): Promise<void>;
}
