import type { Duplex } from 'node:stream';
import type { Aedes, AedesPublishPacket, Client } from 'aedes';
import { generate } from 'mqtt-packet';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { AccessControl } from '../access.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { type MessageProperties, takenIn } from '../store/message-properties.ts';
import type { DeliveryNumber } from '../store/message-queues.ts';
import { isSendable, queuedPacket, unsentEntries } from '../store/queued-packet.ts';
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
import type { Faults } from './faults.ts';
import type { SocketBudget } from './socket-budget.ts';

export interface DeliveryOptions {
  readonly aedes: Aedes;
  readonly store: BrokerStore;
  readonly access: AccessControl;
  /** What the topics of aedes' own events begin with; they are told to no client. */
  readonly ownTopics: string;
  readonly budget: SocketBudget;
  readonly faults: Faults;
}

export interface LiveMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: MessageProperties | undefined;
}

/**
 * How messages reach subscribers. A message leaves at the highest QoS that the client asked for it, once. While the queue of a
 * session is being sent, later messages that leave at QoS 1 and 2 wait behind it; so they do while an MQTT 5 client has as many
 * under way as it takes at a time.
 */
export class Delivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /**
   * Numbers the message and hands it to its subscribers at once: aedes drops a lower number after a higher one. `queued` is what
   * sessions keep of it; `done` is called when it was written to the sockets. A topic that mqemitter throws for is reported as a fault,
   * and is done then.
   */
  deliver(publisherId: string | null, live: LiveMessage, queued: StoredMessage | null, done: () => void): void {
    const { aedes } = this.#options;
    const brokerId = aedes.id;
    const counter = nextMessageNumber(aedes);
    if (queued) this.#options.store.queues.number(queued, { brokerId, counter });
    const { topic, payload, qos, retain, properties } = live;
    // aedes clears `retain` for subscriptions that did not ask for it as published.
    const packet = { cmd: 'publish', brokerId, brokerCounter: counter, topic, payload, qos, retain, dup: false };
    if (properties) Object.assign(packet, { properties });
    let isDone = false;
    const finish = () => {
      isDone = true;
      done();
    };
    try {
      emitterOf(aedes).emit(publisherId === null ? packet : { ...packet, clientId: publisherId }, finish);
    } catch (error) {
      // What `done` itself throws is for the publisher.
      if (isDone) throw error;
      this.#options.faults.ofMessage(`a message on ${topic.slice(0, 100)} could not be delivered`, error);
      finish();
    }
  }

  /** For a message that is queued and not delivered now. */
  number(): DeliveryNumber {
    const { aedes } = this.#options;
    return { brokerId: aedes.id, counter: nextMessageNumber(aedes) };
  }

  /** What aedes is about to send to a client, as it may be sent; null: not, or not now, or it was sent from here. */
  forward(client: Client, connection: Connection, packet: AedesPublishPacket): AedesPublishPacket | null {
    const { access, store, ownTopics, budget } = this.#options;
    const { identity } = connection;
    if (!identity) return null;
    const { topic, qos, messageId, brokerId, retain } = packet;
    if (topic.startsWith(ownTopics)) return null;
    // Messages from the queue have a packet id, retained ones and those that this class sends by itself no broker id.
    const isLive = messageId === undefined && Boolean(brokerId);
    if (!connection.isAnswered && !access.mayReceive(identity, topic)) {
      if (isLive && qos > 0) store.discard(identity.clientId, packet.brokerCounter);
      if (messageId !== undefined) release(connection, messageId);
      return null;
    }
    const session = qos > 0 ? store.sessions.get(client.id) : undefined;
    const entry = messageId === undefined ? session?.byCounter.get(packet.brokerCounter) : undefined;
    if (messageId === undefined && qos > connection.lowestQos) packet.qos = grantedQos(client, topic, qos);
    if (isLive && !connection.isAnswered) {
      // aedes' types call it a connection; every stream that it is given here is a Duplex.
      const admittance = budget.admit(connection, client.conn as Duplex, packet.qos, packet.payload.length);
      if (admittance === 'END') connection.destroy();
      if (admittance !== 'TAKE') return null;
    }
    if (isLive && packet.qos > 0) {
      // Its queue has it. What leaves at QoS 0 is in no queue, so it goes now.
      if (connection.isDraining) return null;
      if (connection.lowestQos === 0 && this.#sendAtHighest(client, packet)) return null;
    }
    // Those that are sent because of a SUBSCRIBE have its identifier.
    const isOfSubscribe = retain && !brokerId && messageId === undefined;
    if (connection.hasIdentifiers && !isOfSubscribe) addIdentifiers(client, packet);
    if (isTooLarge(connection, packet)) {
      if (entry) store.discard(client.id, packet.brokerCounter);
      if (messageId !== undefined) release(connection, messageId);
      return null;
    }
    if (messageId === undefined && packet.qos > 0 && isAcknowledged(client, packet.topic)) {
      const kept = entry ?? (isOfSubscribe && session ? this.#keepRetained(session, packet) : undefined);
      // Its queue has it.
      if (kept && connection.isDraining) return null;
      if (client.closed) {
        if (kept && session) this.#sendToOwner(session, connection);
        return null;
      }
      if (this.#waits(client, connection, packet, session, kept)) return null;
      if (!kept) takeUnderWay(client, connection, packet, session);
    }
    connection.delivered += 1;
    connection.deliveredBytes += packet.payload.length;
    return packet;
  }

  /** CONNACK and the queue were sent. What came meanwhile goes out now, in order, and then messages are live. */
  drained(client: Client, connection: Connection): void {
    if (!connection.isDraining) return;
    if (connection.window) {
      this.#fill(client, connection);
      return;
    }
    connection.isDraining = false;
    const session = this.#options.store.sessions.get(client.id);
    if (!session) return;
    for (const entry of unsentEntries(session)) this.#sendEntry(client, connection, session, entry);
  }

  /** The client is done with a message: an MQTT 5 client that takes a few at a time gets the next one. */
  settled(client: Client, connection: Connection, packetId: number): void {
    const { window } = connection;
    const wasInWindow = window?.has(packetId);
    release(connection, packetId);
    if (!window || !wasInWindow) return;
    if (connection.isDraining || window.isHolding) this.#fill(client, connection);
  }

  /**
   * [MQTT-4.1.0-1] A retained message that a SUBSCRIBE is sent belongs to the session until it is acknowledged: the client may be gone
   * before that. Undefined: there is no room in the queue, so it is sent once.
   */
  #keepRetained(session: Session, { topic, payload, qos, properties }: AedesPublishPacket): QueueEntry | undefined {
    const { queues } = this.#options.store;
    if (qos === 0) return undefined;
    const message = { topic, payload, properties: takenIn(properties as MessageProperties | undefined, Date.now()) };
    if (!queues.hasRoom(session, message)) return undefined;
    const stored = queues.add(new Map([[session, { qos, retain: true }]]), message);
    if (!stored) return undefined;
    const number = this.number();
    queues.number(stored, number);
    return session.byCounter.get(number.counter);
  }

  /** The queue of a session has a message that `left` is not sent any more: the connection that took the session over is sent it. */
  #sendToOwner({ owner }: Session, left: Connection): void {
    if (!(owner instanceof Connection) || owner === left || !owner.isReady || !owner.client) return;
    owner.isDraining = true;
    this.drained(owner.client, owner);
  }

  /** Whether the packet is not to be sent by aedes: it waits for its turn, or was sent from here. */
  #waits(
    client: Client,
    connection: Connection,
    packet: AedesPublishPacket,
    session: Session | undefined,
    entry: QueueEntry | undefined,
  ): boolean {
    const { window } = connection;
    if (window && (!window.isOpen || window.isHolding)) {
      // A session's messages are in its queue.
      if (entry) connection.isDraining = true;
      else window.hold({ ...packet });
      return true;
    }
    if (entry && session && packet.retain) {
      // aedes takes it for one that no queue keeps.
      this.#sendEntry(client, connection, session, entry);
      return true;
    }
    if (!window) return false;
    packet.messageId = nextPacketId(client, session);
    window.take(packet.messageId);
    // aedes notes it a turn later. If the queue is read meanwhile, this message must not be taken for one that waits there.
    if (entry && session) this.#options.store.queues.sent(session, entry, packet.messageId);
    return false;
  }

  /** Sends what waits, in order, as long as the window is open: what no session keeps, then the queue of the session. */
  #fill(client: Client, connection: Connection): void {
    const { window } = connection;
    if (!window) return;
    const session = this.#options.store.sessions.get(client.id);
    while (window.isOpen) {
      const packet = window.shift();
      if (!packet) break;
      const messageId = nextPacketId(client, session);
      window.take(messageId);
      connection.underWay.add(messageId, packet.payload.length);
      sendMessage(client, { ...packet, messageId });
    }
    if (!session) return;
    const now = Date.now();
    for (const entry of session.queue.values()) {
      const { packetId, message, released } = entry;
      if (released || (packetId !== undefined && window.has(packetId))) continue;
      // Not numbered: it will be delivered as a live message.
      if (packetId === undefined && message.counter === 0) continue;
      if (!window.isOpen) return;
      if (isSendable(entry, now)) this.#sendEntry(client, connection, session, entry);
      else this.#options.store.queues.settle(session, entry);
    }
    connection.isDraining = false;
  }

  /** Sends a queued message under its packet id. QoS 2 goes when that is on disk: it is sent again under the same one. */
  #sendEntry(client: Client, connection: Connection, session: Session, entry: QueueEntry): void {
    const { queues } = this.#options.store;
    const { window } = connection;
    const packetId = entry.packetId ?? nextPacketId(client, session);
    queues.sent(session, entry, packetId);
    window?.take(packetId);
    const sendNow = () => sendMessage(client, queuedPacket(entry));
    // aedes itself waits for that, unless the flag is set. To wait twice would let live messages overtake this one.
    if (entry.qos === 1 || !entry.retain) {
      sendNow();
      return;
    }
    const sendOnDisk = () => {
      sendNow();
      // It was too large, or is no longer allowed: nobody will acknowledge it, so the next one goes now.
      if (connection.isDraining && window && !window.has(packetId) && !client.closed) this.#fill(client, connection);
    };
    // A journal that cannot be written ends the broker.
    this.#options.store.commit().then(sendOnDisk, () => {});
  }

  /**
   * A client with filters of QoS 0 and of more: aedes sends the message once, for the first filter that matches, at QoS 0 if that
   * one is. So it is sent from here, where its QoS is known. False: aedes has to send it after all.
   */
  #sendAtHighest(client: Client, packet: AedesPublishPacket): boolean {
    if (!isAcknowledged(client, packet.topic)) {
      this.#options.store.discard(client.id, packet.brokerCounter);
      return false;
    }
    sendMessage(client, packet);
    return true;
  }
}

/** The next packet id that no message of the session has. */
function nextPacketId(client: Client, session: Session | undefined): number {
  for (;;) {
    const packetId = takePacketId(client);
    // The limits of a queue are below the number of packet ids.
    if (!session?.byPacketId.has(packetId)) return packetId;
  }
}

/** Whatever is asked of it, aedes takes the QoS of the filter that equals the topic. */
const isAcknowledged = (client: Client, topic: string): boolean => subscriptionsOf(client)[topic]?.qos !== 0;

/** Counts a message that no session keeps, under the packet id that it is sent with. */
function takeUnderWay(
  client: Client,
  connection: Connection,
  packet: AedesPublishPacket,
  session: Session | undefined,
): void {
  packet.messageId ??= nextPacketId(client, session);
  connection.underWay.add(packet.messageId, packet.payload.length);
}

/** Nothing is under way with this packet id. */
function release({ window, underWay }: Connection, packetId: number): void {
  window?.release(packetId);
  underWay.settle(packetId);
}

/** [MQTT-3.8.4-8] The lower of the message's QoS and the highest that was granted for it. */
function grantedQos(client: Client, topic: string, qos: 0 | 1 | 2): 0 | 1 | 2 {
  let granted: 0 | 1 | 2 = 0;
  const subscriptions = subscriptionsOf(client);
  for (const filter in subscriptions) {
    const offered = subscriptions[filter]?.qos ?? 0;
    if (offered > granted && filterMatches(filter, topic)) granted = offered;
    if (granted >= qos) return qos;
  }
  return granted;
}

/** [MQTT-3.3.4-4] A message is sent once, so with the identifiers of all subscriptions that it is sent for; aedes gives one. */
function addIdentifiers(client: Client, packet: AedesPublishPacket): void {
  const identifiers: number[] = [];
  const publisherId = publisherOf(packet);
  const subscriptions = subscriptionsOf(client);
  for (const filter in subscriptions) {
    const { si, nl } = subscriptions[filter] ?? {};
    if (si === undefined || (nl && publisherId === client.id)) continue;
    if (filterMatches(filter, packet.topic)) identifiers.push(si);
  }
  // Shared with what other clients are sent.
  const { subscriptionIdentifier: _one, ...rest } = packet.properties ?? {};
  packet.properties = identifiers.length > 0 ? { ...rest, subscriptionIdentifier: identifiers } : rest;
}

/** [MQTT-3.1.2-24] What a client does not take is dropped as if it had been sent. */
function isTooLarge({ maxPacketBytes }: Connection, packet: AedesPublishPacket): boolean {
  if (maxPacketBytes === null) return false;
  return generate({ ...packet, messageId: packet.messageId ?? 1 }, { protocolVersion: 5 }).length > maxPacketBytes;
}
