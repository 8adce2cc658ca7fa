import type { Aedes, AedesPublishPacket, Client } from 'aedes';
import { filterMatches } from '../mqtt/filter-match.ts';
import type { AccessControl } from './access.ts';
import type { BrokerStore } from './broker-store.ts';
import { type Connection, subscriptionsOf } from './connection.ts';
import { unsentPackets } from './queued-packet.ts';
import type { StoredMessage } from './session.ts';

export interface DeliveryOptions {
  readonly aedes: Aedes;
  readonly store: BrokerStore;
  readonly access: AccessControl;
  /** What the topics of aedes' own events begin with; they are told to no client. */
  readonly ownTopics: string;
}

export interface LiveMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
}

/**
 * How messages reach subscribers. A message leaves at the highest QoS that the client asked for it, once. While the queue of a
 * session is being sent, later messages that leave at QoS 1 and 2 wait behind it.
 */
export class Delivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /**
   * Numbers the message and hands it to its subscribers at once: aedes drops a lower number after a higher one. `queued` is what
   * sessions keep of it; `done` is called when it was written to the sockets.
   */
  deliver(publisherId: string | null, live: LiveMessage, queued: StoredMessage | null, done: () => void): void {
    // `mq` and `counter` are what aedes itself publishes with; its own publish stores first.
    const internals = this.#options.aedes as unknown as AedesInternals;
    internals.counter += 1;
    const { mq, id: brokerId, counter } = internals;
    if (queued) this.#options.store.queues.number(queued, { brokerId, counter });
    const { topic, payload, qos } = live;
    const packet = { cmd: 'publish', brokerId, brokerCounter: counter, topic, payload, qos, retain: false, dup: false };
    mq.emit(publisherId === null ? packet : { ...packet, clientId: publisherId }, () => done());
  }

  /** What aedes is about to send to a client, as it may be sent; null: not, or not now, or it was sent from here. */
  forward(client: Client, connection: Connection, packet: AedesPublishPacket): AedesPublishPacket | null {
    const { access, store, ownTopics } = this.#options;
    const { identity } = connection;
    if (!identity) return null;
    const { topic, qos, messageId, brokerId, retain } = packet;
    if (topic.startsWith(ownTopics)) return null;
    // Messages from the queue have a packet id, retained ones and those that this class sends by itself no broker id.
    const isLive = messageId === undefined && Boolean(brokerId) && !retain;
    if (!connection.isAnswered && !access.mayReceive(identity, topic)) {
      if (isLive && qos > 0) store.discard(identity.clientId, packet.brokerCounter);
      return null;
    }
    if (messageId === undefined && qos > connection.lowestQos) packet.qos = grantedQos(client, topic, qos);
    if (isLive && packet.qos > 0) {
      // Its queue has it. What leaves at QoS 0 is in no queue, so it goes now.
      if (connection.isDraining) return null;
      if (connection.lowestQos === 0 && this.#sendAtHighest(client, packet)) return null;
    }
    connection.delivered += 1;
    connection.deliveredBytes += packet.payload.length;
    return packet;
  }

  /** CONNACK and the queue were sent. What came meanwhile goes out now, in order, and then messages are live. */
  drained(client: Client, connection: Connection): void {
    if (!connection.isDraining) return;
    connection.isDraining = false;
    const session = this.#options.store.sessions.get(client.id);
    if (session) for (const packet of unsentPackets(session)) send(client, packet);
  }

  /**
   * A client with filters of QoS 0 and of more: aedes sends the message once, for the first filter that matches, at QoS 0 if that
   * one is. So it is sent from here, where its QoS is known. False: aedes has to send it after all.
   */
  #sendAtHighest(client: Client, packet: AedesPublishPacket): boolean {
    if (subscriptionsOf(client)[packet.topic]?.qos === 0) {
      // Whatever is asked of it, aedes takes the QoS of the filter that equals the topic.
      this.#options.store.discard(client.id, packet.brokerCounter);
      return false;
    }
    send(client, packet);
    return true;
  }
}

interface AedesInternals {
  readonly id: string;
  counter: number;
  readonly mq: { emit(packet: object, done: () => void): void };
}

interface AedesClientInternals {
  readonly deliverQoS: (packet: object, done: () => void) => void;
}

/** Without a broker id, or aedes takes the packet for a duplicate of the delivery that was put off. */
function send(client: Client, packet: object): void {
  const { deliverQoS } = client as unknown as AedesClientInternals;
  deliverQoS({ ...packet, brokerId: undefined }, () => {});
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
