import type { Connection } from '../clients/connection.ts';
import { SocketBudget } from '../clients/socket-budget.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { OutgoingPublish } from '../publishing/outgoing-publish.ts';
import { outgoing } from '../store/message-properties.ts';
import type { QueueEntry, Session } from '../store/session.ts';
import { lowerQos, type SubscriptionHolder } from '../store/subscription.ts';
import { identifiersOf, type Recipient } from '../store/subscription-index.ts';
import { type ClientCopy, UnacknowledgedShared } from './sent-messages.ts';

/** Writes PUBLISH packets to connected clients, within access control, their limits, and those of the broker. */
export class ClientSender {
  readonly budget: SocketBudget;
  readonly #parts: CoreParts;

  constructor(parts: CoreParts) {
    this.#parts = parts;
    this.budget = new SocketBudget(parts);
  }

  /** Sends a message that no session queues. Returns `false` if the client's socket is full. */
  sendLive(connection: Connection, recipient: Recipient, message: OutgoingPublish, live: Sent): boolean {
    if (!this.#mayReceive(connection, message.topic)) return true;
    const qos = lowerQos(live.qos, recipient.qos);
    const admittance = this.budget.admit(connection, qos, message.payload.length);
    if (admittance === 'CLOSE') connection.destroy();
    if (admittance !== 'SEND') return true;
    const { identifiers, group, keepsRetain } = recipient;
    const shared = group && { group, qos: live.qos, retain: live.retain };
    const copy = { message, qos, retain: live.retain && keepsRetain, identifiers, shared };
    if (!connection.flow.held) return this.send(connection, copy);
    message.kept();
    connection.flow.held.add(copy);
    return true;
  }

  /** Sends a message that was held, unless it has expired [MQTT-3.3.2-5] or may no longer be received. */
  sendHeld(connection: Connection, copy: ClientCopy): void {
    const current = this.#current(connection, copy);
    if (current) this.send(connection, current);
  }

  /** The same without access control and the budget. */
  send(connection: Connection, copy: ClientCopy): boolean {
    const { message, qos } = copy;
    if (qos === 0) return this.#write(connection, copy, 0);
    const { window } = connection.flow;
    if (window && (!window.isOpen || window.hasQueued)) {
      window.enqueue({ ...copy, qos, payload: message.kept().payload });
      return true;
    }
    return this.#sendNow(connection, copy);
  }

  /** A packet of QoS 0 for the caller to write. `null` if its payload is large, or the packet too large. */
  smallPacket(connection: Connection, { message, retain, identifiers }: ClientCopy): Buffer | null {
    if (message.separatePayload) return null;
    const { protocolVersion, maxPacketBytes } = connection.request;
    const bytes = message.head({ qos: 0, retain, dup: false }, 0, protocolVersion, identifiers);
    if (maxPacketBytes !== null && bytes.length > maxPacketBytes) return null;
    connection.counters.delivery(message.payload.length);
    return bytes;
  }

  /** Sends messages without a session that wait for the Receive Maximum. */
  fillWindow(connection: Connection): void {
    const { window } = connection.flow;
    while (window?.isOpen) {
      const waiting = window.shift();
      if (!waiting) return;
      const current = this.#current(connection, waiting);
      if (current) this.#sendNow(connection, current);
    }
  }

  /** What is sent of a message that has waited; `null`: nothing. */
  #current(connection: Connection, copy: ClientCopy): ClientCopy | null {
    const message = copy.message.after(Date.now());
    return message && this.#mayReceive(connection, message.topic) ? { ...copy, message } : null;
  }

  #sendNow(connection: Connection, copy: ClientCopy): boolean {
    const packetId = nextPacketId(connection);
    const { message, qos, shared } = copy;
    const { length } = message.payload;
    if (isTooLarge(connection, message, copy, packetId)) return true;
    connection.flow.window?.inFlight.add(packetId);
    connection.flow.inFlight.add(packetId, qos, length);
    // [MQTT-4.8.2-5] A QoS 2 message that was sent must not be sent to another member.
    if (shared && qos === 1) {
      connection.flow.shared ??= new UnacknowledgedShared();
      connection.flow.shared.add(packetId, { ...shared, message: message.kept() }, this.#parts.limits);
    }
    return this.#write(connection, copy, packetId);
  }

  /**
   * Sends a queued message. For QoS 2 the packet id is on disk before, because it must not change. Later messages of
   * QoS 1 wait for it, so that messages of one topic keep their order whatever their QoS is [MQTT-4.6.0-6].
   */
  sendEntry(connection: Connection, session: Session, entry: QueueEntry): void {
    const { store } = this.#parts;
    const { message: stored, qos, retain, dup, share, identifiers } = entry;
    const { topic, payload } = stored;
    const properties = stored.properties && outgoing(stored.properties, Date.now());
    const message = new OutgoingPublish(topic, payload, properties);
    const packetId = entry.packetId ?? nextPacketId(connection);
    const copy = {
      message,
      qos,
      retain,
      dup,
      identifiers: identifiers === undefined ? this.#identifiersOf(session, topic, share) : identifiers,
      shared: null,
    };
    if (!this.#mayReceive(connection, topic) || isTooLarge(connection, message, copy, packetId)) {
      store.queues.settle(session, entry);
      return;
    }
    entry.isSent = true;
    store.queues.sent(session, entry, packetId);
    connection.flow.window?.inFlight.add(packetId);
    if (qos === 1 && connection.flow.pendingSends === 0) {
      this.#write(connection, copy, packetId);
      return;
    }
    connection.flow.pendingSends += 1;
    const isCurrent = () => session.queue.get(entry.position) === entry && session.owner === connection;
    store.written().then(
      () => {
        connection.flow.pendingSends -= 1;
        if (isCurrent() && !connection.isClosing) this.#write(connection, copy, packetId);
      },
      // A broken journal shuts the broker down.
      () => {},
    );
  }

  /** Sends a response of the control API at QoS 0, for which the client needs no permission to receive it. */
  sendResponse(connection: Connection, topic: string, payload: Uint8Array): void {
    const identifiers = this.#identifiersOf(connection.holder, topic, null);
    const message = new OutgoingPublish(topic, payload, undefined);
    this.#write(connection, { message, qos: 0, retain: false, identifiers, shared: null }, 0);
  }

  /** [MQTT-3.3.4-4] The identifiers of all matching subscriptions, or that of the shared subscription `share`. */
  #identifiersOf(holder: SubscriptionHolder, topic: string, share: string | null): readonly number[] | null {
    if (share !== null) {
      const subscription = holder.subscriptions.get(share);
      return subscription ? identifiersOf(subscription) : null;
    }
    const { recipients } = this.#parts.store.subscriptions.match(topic, null);
    return recipients.find((recipient) => recipient.holder === holder)?.identifiers ?? null;
  }

  #mayReceive({ identity }: Connection, topic: string): boolean {
    return identity !== null && this.#parts.access.mayReceive(identity, topic);
  }

  /** [MQTT-3.1.2-24] A packet that exceeds the Maximum Packet Size of the client is dropped. */
  #write(connection: Connection, copy: ClientCopy & { readonly dup?: boolean }, packetId: number): boolean {
    const { message, qos, retain, dup = false, identifiers } = copy;
    const { protocolVersion, maxPacketBytes } = connection.request;
    const head = message.head({ qos, retain, dup }, packetId, protocolVersion, identifiers);
    const { separatePayload } = message;
    if (maxPacketBytes !== null && head.length + (separatePayload?.length ?? 0) > maxPacketBytes) return true;
    connection.counters.delivery(message.payload.length);
    return connection.write(head, separatePayload);
  }
}

/** The QoS and RETAIN flag that a message was published with. */
interface Sent {
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

function isTooLarge(
  { request: { maxPacketBytes, protocolVersion } }: Connection,
  message: OutgoingPublish,
  { qos, retain, identifiers }: Omit<ClientCopy, 'message'>,
  packetId: number,
): boolean {
  if (maxPacketBytes === null) return false;
  const head = message.head({ qos, retain, dup: false }, packetId, protocolVersion, identifiers);
  return head.length + (message.separatePayload?.length ?? 0) > maxPacketBytes;
}

/** A packet id that no unacknowledged message of the client has; the limits of messages are below their number. */
function nextPacketId(connection: Connection): number {
  const { session, flow } = connection;
  for (;;) {
    const packetId = connection.flow.takePacketId();
    if (!session?.byPacketId.has(packetId) && flow.inFlight.get(packetId) === undefined) return packetId;
  }
}
