import { Connection, connectedOf } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { OutgoingPublish } from '../publishing/outgoing-publish.ts';
import { RetainedSender } from '../retained/retained-sender.ts';
import type { Accepted } from '../store/broker-store.ts';
import { ClientSender } from './client-sender.ts';
import type { LiveMessage } from './sent-messages.ts';
import { SessionSender } from './session-sender.ts';
import { SharedDelivery } from './shared-delivery.ts';

const FAULT = 'a message could not be sent to a client';

/** Delivers each message once to each of its recipients. QoS 1 and 2 wait for the Receive Maximum. */
export class Delivery {
  readonly #parts: CoreParts;
  readonly #sender: ClientSender;
  readonly #sessions: SessionSender;
  readonly #shared: SharedDelivery;
  readonly retained: RetainedSender;

  constructor(parts: CoreParts) {
    this.#parts = parts;
    this.#sender = new ClientSender(parts);
    this.#sessions = new SessionSender(parts, this.#sender);
    this.#shared = new SharedDelivery(parts, this.#sender, this.#sessions);
    this.retained = new RetainedSender(parts, this.#sender, this.#sessions);
  }

  /** Deliveries that were dropped because the sockets of their clients are full. */
  get dropped(): number {
    return this.#sender.budget.dropped;
  }

  /** `done` is called, maybe immediately, when sockets that are full have taken what they have. */
  deliver(publisherId: string | null, live: LiveMessage, { queued, recipients }: Accepted, done: () => void): void {
    const { topic, payload, qos, retain, properties } = live;
    let full: Connection[] | null = null;
    if (recipients.length > 0) {
      const message = new OutgoingPublish(topic, payload, properties);
      for (const recipient of recipients) {
        const connection = connectedOf(recipient.holder);
        if (!connection) {
          // The member has left since it was chosen.
          if (recipient.group) this.#shared.give({ message, group: recipient.group, qos, retain });
          continue;
        }
        try {
          if (this.#sender.sendLive(connection, recipient, message, live)) continue;
          full ??= [];
          full.push(connection);
        } catch (error) {
          this.#parts.faults.ofConnection(connection, FAULT, error);
        }
      }
    }
    for (const one of queued) {
      one.entry.message.isDelivered = true;
      const current = one.entry.share === null ? one : this.#shared.current(one);
      if (current === null) continue;
      const { owner } = current.session;
      const connection = owner instanceof Connection ? owner : undefined;
      if (connection?.flow.held) connection.flow.held.hasQueued = true;
      else this.#parts.faults.run(connection, FAULT, () => this.#sessions.deliver(current));
    }
    if (full === null) done();
    else this.#waitFor(full, publisherId, live, done);
  }

  #waitFor(full: readonly Connection[], publisherId: string | null, live: LiveMessage, done: () => void): void {
    let waiting = full.length;
    const release = this.#sender.budget.waiting(publisherId, live, waiting);
    const drained = () => {
      waiting -= 1;
      if (waiting > 0) return;
      release();
      done();
    };
    for (const connection of full) connection.waitForDrain(drained);
  }

  sendResponse(connection: Connection, topic: string, payload: Uint8Array): void {
    this.#sender.sendResponse(connection, topic, payload);
  }

  /** Called when CONNACK was sent. Sends what the session has queued; later messages are live. */
  ready(connection: Connection): void {
    this.#sessions.drain(connection);
  }

  /** Called when the client has acknowledged or refused a message, so that its window has room. */
  settled(connection: Connection, packetId: number): void {
    const { window } = connection.flow;
    connection.flow.inFlight.settle(packetId);
    connection.flow.held?.settled();
    connection.flow.shared?.settle(packetId);
    window?.inFlight.delete(packetId);
    if (connection.flow.isDraining) this.#sessions.drain(connection);
    else if (window?.hasQueued) this.#sender.fillWindow(connection);
  }

  /** Called when a connection has ended, and its client is offline. */
  closed(connection: Connection): void {
    this.#shared.closed(connection);
    connection.flow.window?.close();
    connection.flow.held?.close();
  }
}
