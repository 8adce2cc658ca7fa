import { Readable } from 'node:stream';
import { isSendable, NOWHERE, queuedEntries, queuedPacket } from './aedes-packets.ts';
import type { BrokerStore } from './broker-store.ts';
import type { ClientRef } from './incoming-store.ts';
import type { Session, SubscriptionRecord } from './session.ts';
import type { WillPacket } from './will-store.ts';

interface PacketRef {
  readonly cmd?: string;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly messageId?: number | undefined;
  readonly brokerCounter?: number;
}

interface BrokerRef {
  readonly id: string;
  counter: number;
}

interface SubscriptionRequest extends SubscriptionRecord {
  readonly topic: string;
}

/** Whether a filter of SUBSCRIBE is stored: aedes also passes refused ones. */
type AdmitsFilter = (client: ClientRef, filter: string) => boolean;
/** Whether the client has a Receive Maximum. It then does not get its whole queue when it connects. */
type HasWindow = (client: ClientRef) => boolean;
/**
 * The interface of aedes-persistence 10 for the broker's store. A method resolves when its writes survive a killed
 * process. Not committed are the packet id of a sent QoS 1 message and the removal of an acknowledged one, because a
 * loss means one duplicate; and wills.
 */
export class Persistence {
  readonly #store: BrokerStore;
  readonly #admits: AdmitsFilter;
  readonly #hasWindow: HasWindow;
  #broker: BrokerRef | null = null;
  #adding: { readonly subscriptions: readonly unknown[]; readonly done: Promise<void> } | null = null;

  constructor(store: BrokerStore, admits: AdmitsFilter, hasWindow: HasWindow = () => false) {
    this.#store = store;
    this.#admits = admits;
    this.#hasWindow = hasWindow;
  }

  // aedes requires an async function.
  async setup(broker: BrokerRef): Promise<void> {
    this.#broker = broker;
    this.#store.load(() => {
      broker.counter += 1;
      return { brokerId: broker.id, counter: broker.counter };
    });
  }

  addSubscriptions(client: ClientRef, subscriptions: readonly SubscriptionRequest[]): Promise<void> {
    // aedes calls this method once for each filter of a SUBSCRIBE, each time with all filters.
    if (this.#adding?.subscriptions === subscriptions) return this.#adding.done;
    for (const { topic, ...record } of subscriptions) {
      if (!this.#admits(client, topic)) continue;
      const { qos, rh, rap, nl, subscriptionIdentifier } = record;
      const identifier = subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier };
      this.#store.sessions.subscribe(client.id, topic, { qos, rh, rap, nl, ...identifier });
    }
    const done = this.#store.commit();
    const reset = () => {
      this.#adding = null;
    };
    // `done` itself is returned: a derived promise would resolve after that of a later UNSUBSCRIBE.
    done.then(reset, reset);
    this.#adding = { subscriptions, done };
    return done;
  }

  async removeSubscriptions(client: ClientRef, filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.#store.sessions.unsubscribe(client.id, filter);
    await this.#store.commit();
  }

  async subscriptionsByClient(client: ClientRef): Promise<SubscriptionRequest[]> {
    const session = this.#store.sessions.get(client.id);
    // [MQTT-3.2.2-2] aedes reports a present session only if it has subscriptions. This subscription is never granted.
    if (session?.isResumed && session.subscriptions.size === 0) return [{ topic: NOWHERE, qos: 0 }];
    return Array.from(session?.subscriptions.values() ?? [], ({ clientId: _clientId, ...request }) => request);
  }

  /** aedes publishes to topics without subscribers only, because `PublishHandler` queues and delivers the messages. */
  async subscriptionsByTopic(): Promise<[]> {
    return [];
  }

  async outgoingEnqueueCombi(): Promise<void> {}

  /** For a persistent session, `Admission` has already deleted the earlier one, and created this one. */
  async cleanSubscriptions(client: ClientRef): Promise<void> {
    if (client.clean === false) return;
    if (this.#store.sessions.remove(client.id)) await this.#store.commit();
  }

  async outgoingUpdate(client: ClientRef, packet: PacketRef): Promise<void> {
    const { sessions, queues } = this.#store;
    const session = sessions.get(client.id);
    if (!session || packet.messageId === undefined) return;
    if (packet.cmd === 'pubrel') {
      const entry = session.entryByPacketId(packet.messageId);
      if (!entry) return;
      queues.released(session, entry);
      await this.#store.commit();
      return;
    }
    // There is no entry if the queue was full, the message is retained, or the subscription has ended.
    const entry = session.byCounter.get(packet.brokerCounter ?? 0);
    if (!entry) return;
    queues.sent(session, entry, packet.messageId);
    // A QoS 2 message must be repeated with the same packet id, otherwise the receiver gets it twice.
    if (entry.qos === 2) await this.#store.commit();
  }

  /** aedes calls it without a packet id for each message that it has not sent, including duplicates. */
  async outgoingClearMessageId(client: ClientRef, packet: PacketRef): Promise<object | undefined> {
    const { sessions, queues } = this.#store;
    const session = sessions.get(client.id);
    if (!session || packet.messageId === undefined) return undefined;
    const entry = session.entryByPacketId(packet.messageId);
    if (!entry) return undefined;
    const cleared = queuedPacket(entry);
    queues.settle(session, entry);
    return cleared;
  }

  outgoingStream(client: ClientRef): Readable {
    const session = this.#store.sessions.get(client.id);
    return Readable.from(session ? this.#outgoing(client, session) : []);
  }

  #outgoing(client: ClientRef, session: Session): object[] {
    const now = Date.now();
    const hasWindow = this.#hasWindow(client);
    const packets: object[] = [];
    for (const entry of queuedEntries(session)) {
      if (!isSendable(entry, now)) this.#store.queues.settle(session, entry);
      else if (entry.released || !hasWindow) packets.push(queuedPacket(entry));
    }
    return packets;
  }

  async incomingStorePacket(client: ClientRef, packet: PacketRef): Promise<void> {
    const { cmd, topic, payload: sent, qos, retain, dup, messageId } = packet;
    // The payload of a consumed packet is not needed.
    const payload = topic === NOWHERE ? '' : sent;
    const stored = { cmd, topic, payload, qos, retain, dup, messageId };
    this.#store.incoming.put(client.id, messageId ?? 0, stored, sent.length);
  }

  async incomingGetPacket(client: ClientRef, packet: PacketRef): Promise<object> {
    const found = this.#store.incoming.get(client.id, packet.messageId ?? 0);
    if (!found) throw new Error('no such packet');
    return found;
  }

  async putWill(client: ClientRef, packet: WillPacket): Promise<void> {
    if (this.#broker) packet.brokerId = this.#broker.id;
    packet.clientId = client.id;
    this.#store.wills.put(client.id, packet);
  }

  async delWill(client: ClientRef): Promise<WillPacket | undefined> {
    return this.#store.wills.remove(client.id);
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from(this.#store.wills.all().filter(({ brokerId }) => !brokers[brokerId ?? '']));
  }
}
