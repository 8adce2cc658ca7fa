import type { BrokerLimits } from '../limits.ts';
import type { OutgoingPublish } from '../publishing/outgoing-publish.ts';
import type { MessageProperties } from '../store/message-properties.ts';
import type { SharedGroup } from '../store/subscription.ts';

export interface LiveMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: MessageProperties | undefined;
}

/** What one client gets of a message. `qos`: at most the granted one. */
export interface ClientCopy {
  readonly message: OutgoingPublish;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly identifiers: readonly number[] | null;
  /** `null` if the subscription is not shared. */
  readonly shared: Share | null;
}

/** A message of QoS 1 or 2 that waits in the send window of a client without a session. */
export interface WaitingMessage extends ClientCopy {
  readonly payload: { readonly length: number };
  readonly qos: 1 | 2;
}

/** What another member may get of a message: with the QoS and the RETAIN flag that it was published with. */
interface Share {
  readonly group: SharedGroup;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

/** A message of a shared subscription that another member is to get. */
export interface SharedMessage extends Share {
  readonly message: OutgoingPublish;
}

/** Messages of shared subscriptions that a client without a session has not acknowledged, within its limits. */
export class UnacknowledgedShared {
  readonly #messages = new Map<number, SharedMessage>();
  #bytes = 0;

  /** Beyond the limits, the oldest messages are removed: other members do not get them when the client leaves. */
  add(packetId: number, added: SharedMessage, { onlineMessages, sessionBytes }: BrokerLimits): void {
    this.settle(packetId);
    this.#messages.set(packetId, added);
    this.#bytes += added.message.payload.length;
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= onlineMessages && this.#bytes <= sessionBytes) return;
      this.settle(oldest);
    }
  }

  settle(packetId: number): void {
    const settled = this.#messages.get(packetId);
    if (settled === undefined) return;
    this.#messages.delete(packetId);
    this.#bytes -= settled.message.payload.length;
  }

  /** Removes and returns all messages. */
  takeAll(): SharedMessage[] {
    const all = [...this.#messages.values()];
    this.#messages.clear();
    this.#bytes = 0;
    return all;
  }
}
