import type { Duplex } from 'node:stream';
import type { Aedes, AedesPublishPacket, Client } from 'aedes';
import { generate } from 'mqtt-packet';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { isSendable, queuedPacket, unsentEntries } from '../store/aedes-packets.ts';
import { type MessageProperties, withExpiry } from '../store/message-properties.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import type { QueueEntry, Session, StoredMessage } from '../store/session.ts';
import {
  emitterOf,
  nextMessageNumber,
  publisherOf,
  sendMessage,
  subscriptionsOf,
  takePacketId,
} from './aedes-internals.ts';
import { Connection } from './connection.ts';
import type { CoreParts } from './core-parts.ts';
import { SocketBudget } from './socket-budget.ts';

export interface LiveMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: MessageProperties | undefined;
}

/** Delivers each message once. QoS 1 and 2 wait for the queue of the session and the Receive Maximum. */
export class Delivery {
  readonly #parts: CoreParts;
  readonly #aedes: Aedes;
  /** Prefix of the topics of aedes' own events, which are delivered to no client. */
  readonly #ownTopics: string;
  readonly budget: SocketBudget;

  constructor(parts: CoreParts, aedes: Aedes) {
    this.#parts = parts;
    this.#aedes = aedes;
    this.#ownTopics = `$SYS/${aedes.id}/`;
    this.budget = new SocketBudget(parts);
    this.budget.watch(emitterOf(aedes));
  }

  /**
   * Numbers and delivers the message in one step, because aedes drops a lower number after a higher one. `queued` is
   * the message in the queues of sessions. `done` is called when the sockets have it, or mqemitter throws for it.
   */
  deliver(publisherId: string | null, live: LiveMessage, queued: StoredMessage | null, done: () => void): void {
    const number = this.number();
    if (queued) this.#parts.store.queues.number(queued, number);
    const { brokerId, counter } = number;
    const { topic, payload, qos, retain, properties } = live;
    // aedes clears `retain` for subscriptions without Retain As Published.
    const packet = { cmd: 'publish', brokerId, brokerCounter: counter, topic, payload, qos, retain, dup: false };
    if (properties) Object.assign(packet, { properties });
    let isDone = false;
    const finish = () => {
      isDone = true;
      done();
    };
    try {
      emitterOf(this.#aedes).emit(publisherId === null ? packet : { ...packet, clientId: publisherId }, finish);
    } catch (error) {
      // `done` has thrown, which concerns the publisher.
      if (isDone) throw error;
      const text = `a message on ${topic.slice(0, 100)} could not be delivered`;
      this.#parts.faults.report({ kind: 'message', text, error });
      finish();
    }
  }

  number(): DeliveryNumber {
    return { brokerId: this.#aedes.id, counter: nextMessageNumber(this.#aedes) };
  }

  /** Returns the packet for aedes to send. `null` if the message is dropped, waits, or was sent by this method. */
  forward(client: Client, connection: Connection, packet: AedesPublishPacket): AedesPublishPacket | null {
    const { access, store } = this.#parts;
    const { identity } = connection;
    if (!identity) return null;
    const { topic, qos, messageId, brokerId, retain } = packet;
    if (topic.startsWith(this.#ownTopics)) return null;
    // Messages from the queue have a packet id. Retained messages and messages sent by this class have no broker id.
    const isLive = messageId === undefined && Boolean(brokerId);
    if (!connection.isReceivingResponse && !access.mayReceive(identity, topic)) {
      if (isLive && qos > 0) store.discard(identity.clientId, packet.brokerCounter);
      if (messageId !== undefined) release(connection, messageId);
      return null;
    }
    const session = qos > 0 ? store.sessions.get(client.id) : undefined;
    const entry = messageId === undefined ? session?.byCounter.get(packet.brokerCounter) : undefined;
    if (messageId === undefined && qos > connection.lowestQos) packet.qos = grantedQos(client, topic, qos);
    if (isLive && !connection.isReceivingResponse) {
      // Every stream that `BrokerCore.accept` passes to aedes is a Duplex.
      const admittance = this.budget.admit(connection, client.conn as Duplex, packet.qos, packet.payload.length);
      if (admittance === 'CLOSE') connection.destroy();
      if (admittance !== 'SEND') return null;
    }
    if (isLive && packet.qos > 0) {
      // The message is in the queue, unless it is delivered at QoS 0.
      if (connection.isDraining) return null;
      // aedes would send it at QoS 0 if the first matching filter has QoS 0.
      if (connection.lowestQos === 0) {
        sendMessage(client, packet);
        return null;
      }
    }
    // aedes adds the identifier of SUBSCRIBE to its retained messages.
    const isOfSubscribe = retain && !brokerId && messageId === undefined;
    if (connection.hasIdentifiers && !isOfSubscribe) addIdentifiers(client, packet);
    if (isTooLarge(connection, packet)) {
      if (entry) store.discard(client.id, packet.brokerCounter);
      if (messageId !== undefined) release(connection, messageId);
      return null;
    }
    if (messageId === undefined && packet.qos > 0) {
      const queued = entry ?? (isOfSubscribe && session ? this.#queueRetained(session, packet) : undefined);
      if (queued && connection.isDraining) return null;
      if (client.closed) {
        if (queued && session) this.#sendToOwner(session, connection);
        return null;
      }
      if (this.#waits(client, connection, packet, session, queued)) return null;
      if (!queued) {
        packet.messageId ??= nextPacketId(client, session);
        connection.inFlight.add(packet.messageId, packet.qos, packet.payload.length);
      }
    }
    connection.delivered += 1;
    connection.deliveredBytes += packet.payload.length;
    return packet;
  }

  /** Called when CONNACK and the queue were sent. Sends what was queued meanwhile; later messages are live. */
  drained(client: Client, connection: Connection): void {
    if (!connection.isDraining) return;
    if (connection.window) {
      this.#fill(client, connection);
      return;
    }
    connection.isDraining = false;
    const session = this.#parts.store.sessions.get(client.id);
    if (!session) return;
    for (const entry of unsentEntries(session)) this.#sendEntry(client, connection, session, entry);
  }

  /** Called when the client has acknowledged or refused a message, so that its window has room. */
  settled(client: Client, connection: Connection, packetId: number): void {
    const { window } = connection;
    const wasInWindow = window?.inFlight.has(packetId);
    release(connection, packetId);
    if (!window || !wasInWindow) return;
    if (connection.isDraining || window.hasQueued) this.#fill(client, connection);
  }

  /** [MQTT-4.1.0-1] Queues a retained message after SUBACK. `undefined` if the queue is full: it is sent once. */
  #queueRetained(session: Session, { topic, payload, qos, properties }: AedesPublishPacket): QueueEntry | undefined {
    const { queues } = this.#parts.store;
    if (qos === 0) return undefined;
    const message = { topic, payload, properties: withExpiry(properties as MessageProperties | undefined, Date.now()) };
    if (!queues.hasRoom(session, message)) return undefined;
    const stored = queues.add(new Map([[session, { qos, retain: true }]]), message);
    if (!stored) return undefined;
    const number = this.number();
    queues.number(stored, number);
    return session.byCounter.get(number.counter);
  }

  /** Sends queued messages to the connection that has taken over the session from `previous`. */
  #sendToOwner({ owner }: Session, previous: Connection): void {
    if (!(owner instanceof Connection) || owner === previous || !owner.isReady || !owner.client) return;
    owner.isDraining = true;
    this.drained(owner.client, owner);
  }

  /** Whether aedes must not send the packet, because it waits or was sent by this method. */
  #waits(
    client: Client,
    connection: Connection,
    packet: AedesPublishPacket,
    session: Session | undefined,
    entry: QueueEntry | undefined,
  ): boolean {
    const { window } = connection;
    if (window && (!window.isOpen || window.hasQueued)) {
      if (entry) connection.isDraining = true;
      else window.enqueue({ ...packet });
      return true;
    }
    if (entry && session && packet.retain) {
      // aedes would not store the packet id of a retained message.
      this.#sendEntry(client, connection, session, entry);
      return true;
    }
    if (!window) return false;
    packet.messageId = nextPacketId(client, session);
    window.inFlight.add(packet.messageId);
    // aedes stores the packet id later. If the queue is read meanwhile, the message must not look unsent.
    if (entry && session) this.#parts.store.queues.sent(session, entry, packet.messageId);
    return false;
  }

  /** Sends waiting messages while the window is open: first those of the window, then the queue of the session. */
  #fill(client: Client, connection: Connection): void {
    const { window } = connection;
    if (!window) return;
    const session = this.#parts.store.sessions.get(client.id);
    while (window.isOpen) {
      const packet = window.shift();
      if (!packet) break;
      const messageId = nextPacketId(client, session);
      window.inFlight.add(messageId);
      connection.inFlight.add(messageId, packet.qos, packet.payload.length);
      sendMessage(client, { ...packet, messageId });
    }
    if (!session) return;
    const now = Date.now();
    for (const entry of session.queue.values()) {
      const { packetId, message, released } = entry;
      if (released || (packetId !== undefined && window.inFlight.has(packetId))) continue;
      // A message without a number will be delivered as a live message.
      if (packetId === undefined && message.counter === 0) continue;
      if (!window.isOpen) return;
      if (isSendable(entry, now)) this.#sendEntry(client, connection, session, entry);
      else this.#parts.store.queues.settle(session, entry);
    }
    connection.isDraining = false;
  }

  /** Sends a queued message. For QoS 2 the packet id is on disk before, because it must not change. */
  #sendEntry(client: Client, connection: Connection, session: Session, entry: QueueEntry): void {
    const { queues } = this.#parts.store;
    const { window } = connection;
    const packetId = entry.packetId ?? nextPacketId(client, session);
    queues.sent(session, entry, packetId);
    window?.inFlight.add(packetId);
    const sendNow = () => sendMessage(client, queuedPacket(entry));
    // aedes waits for the packet id unless `retain` is set. Waiting twice would let live messages overtake this one.
    if (entry.qos === 1 || !entry.retain) {
      sendNow();
      return;
    }
    const sendOnDisk = () => {
      sendNow();
      // The message was too large or is no longer allowed. It will not be acknowledged, so the next one is sent now.
      if (connection.isDraining && window && !window.inFlight.has(packetId) && !client.closed)
        this.#fill(client, connection);
    };
    this.#parts.store.commit().then(sendOnDisk, () => {});
  }
}

function nextPacketId(client: Client, session: Session | undefined): number {
  for (;;) {
    const packetId = takePacketId(client);
    // The limits of a queue are below the number of packet ids.
    if (!session?.byPacketId.has(packetId)) return packetId;
  }
}

function release({ window, inFlight }: Connection, packetId: number): void {
  window?.inFlight.delete(packetId);
  inFlight.settle(packetId);
}

/** [MQTT-3.8.4-8] Returns the lower of the message's QoS and the highest granted QoS. */
function grantedQos(client: Client, topic: string, qos: 0 | 1 | 2): 0 | 1 | 2 {
  let granted: 0 | 1 | 2 = 0;
  const subscriptions = subscriptionsOf(client);
  for (const filter in subscriptions) {
    const offered = subscriptions[filter]?.granted ?? 0;
    if (offered > granted && filterMatches(filter, topic)) granted = offered;
    if (granted >= qos) return qos;
  }
  return granted;
}

/** [MQTT-3.3.4-4] Adds the identifiers of all matching subscriptions; aedes adds one of them. */
function addIdentifiers(client: Client, packet: AedesPublishPacket): void {
  const identifiers: number[] = [];
  const publisherId = publisherOf(packet);
  const subscriptions = subscriptionsOf(client);
  for (const filter in subscriptions) {
    const { si, nl } = subscriptions[filter] ?? {};
    if (si === undefined || (nl && publisherId === client.id)) continue;
    if (filterMatches(filter, packet.topic)) identifiers.push(si);
  }
  // The object is shared with the packets of other clients.
  const { subscriptionIdentifier: _one, ...rest } = packet.properties ?? {};
  packet.properties = identifiers.length > 0 ? { ...rest, subscriptionIdentifier: identifiers } : rest;
}

/** [MQTT-3.1.2-24] Whether the packet exceeds the Maximum Packet Size of the client. It is then dropped. */
function isTooLarge({ maxPacketBytes }: Connection, packet: AedesPublishPacket): boolean {
  if (maxPacketBytes === null) return false;
  return generate({ ...packet, messageId: packet.messageId ?? 1 }, { protocolVersion: 5 }).length > maxPacketBytes;
}
