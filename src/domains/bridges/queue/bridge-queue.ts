import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

export interface QueueBounds {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/** A message that was given out, until it is settled. */
export interface QueueEntry {
  readonly message: BridgeMessage;
}

/**
 * What is to be delivered by one connection of a bridge in one direction, in order.
 *
 * While delivery keeps up, messages are in memory alone and are acknowledged when they are settled; as soon as it does not (nobody takes
 * them, or more than a small window waits), they go to disk and are acknowledged there, so that a broker's own short queue (1,000
 * messages in Mosquitto, which then drops) is not what decides. What is on disk survives the process.
 * Full: what comes is dropped, acknowledged and counted; what is there stays.
 */
export interface BridgeQueue {
  /** `taken` is called once: delivered, safely on disk, or dropped. The broker is then told that the message was taken. */
  push(message: BridgeMessage, taken: () => void): void;
  /** At most `maxMessages` and `maxBytes`, the oldest that are not given out, with at least one if there is any. */
  take(maxMessages: number, maxBytes: number): readonly QueueEntry[];
  /** Delivered, or never to be. */
  settle(entry: QueueEntry): void;
  /** What was given out and is not settled will be given out again, in its order: the connection was lost. */
  restore(): void;
  /** Whether anybody takes messages now: while not, what comes goes to disk. */
  setDelivering(isDelivering: boolean): void;
  /** There is something to take, after there was nothing. */
  onReady(listener: () => void): Stop;
  readonly length: number;
  readonly bytes: number;
  readonly dropped: number;
  setBounds(bounds: QueueBounds): void;
  /** `discard`: what is on disk is removed. */
  close(options: { readonly discard: boolean }): Promise<void>;
}
