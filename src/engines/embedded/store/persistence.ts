import { Readable } from 'node:stream';
import type { BrokerStore } from './broker-store.ts';
import { NOWHERE } from './consumed-publish.ts';
import type { ClientRef } from './incoming-store.ts';
import type { MessageProperties } from './message-properties.ts';
import { isSendable, queuedEntries, queuedPacket } from './queued-packet.ts';
import type { RetainedPacket } from './retained-store.ts';
import type { Session, SubscriptionRecord } from './session.ts';
import type { MatchedSubscription } from './session-store.ts';
import type { WillPacket } from './will-store.ts';

/** What is read of aedes' packets. */
interface PacketRef {
  readonly cmd?: string;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly messageId?: number | undefined;
  readonly brokerId?: string;
  readonly brokerCounter?: number;
  readonly properties?: MessageProperties | undefined;
}

interface BrokerRef {
  readonly id: string;
  counter: number;
}

interface SubscriptionRequest extends SubscriptionRecord {
  readonly topic: string;
}

/** Refuses what a client asked for in the same SUBSCRIBE as filters it may have. */
export type AdmitsFilter = (client: ClientRef, filter: string) => boolean;

/** Whether the client is sent a few messages at a time, and not its whole queue as it connects. */
export type HasWindow = (client: ClientRef) => boolean;

/**
 * aedes-persistence 10 over the broker's store, for what aedes itself reads and writes; publishes are taken in by
 * `BrokerStore.accept`.
 *
 * Promises: a method resolves when what it wrote survives a killed process. Resolved without a commit, because nothing was
 * acknowledged by it: the packet id of a QoS 1 message that is sent (a lost one means one duplicate), an acknowledged message
 * leaving its queue (likewise), and wills (on disk within the journal's lazy time).
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

  get broker(): BrokerRef | null {
    return this.#broker;
  }

  // aedes insists on an async function.
  async setup(broker: BrokerRef): Promise<void> {
    this.#broker = broker;
    this.#store.load(() => {
      broker.counter += 1;
      return { brokerId: broker.id, counter: broker.counter };
    });
  }

  async storeRetained(packet: PacketRef & { readonly retain: true }): Promise<void> {
    // aedes' packet as it is.
    const copy = { ...packet } as unknown as RetainedPacket;
    if (this.#store.retained.put(copy)) await this.#store.commit();
  }

  createRetainedStream(filter: string): Readable {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(this.#store.retained.matching(filters));
  }

  addSubscriptions(client: ClientRef, subscriptions: readonly SubscriptionRequest[]): Promise<void> {
    // aedes asks once for each filter of a SUBSCRIBE, always with all of them.
    if (this.#adding?.subscriptions === subscriptions) return this.#adding.done;
    for (const { topic, ...record } of subscriptions) {
      if (!this.#admits(client, topic)) continue;
      const { qos, rh, rap, nl, subscriptionIdentifier } = record;
      const identifier = subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier };
      this.#store.sessions.subscribe(client.id, topic, { qos, rh, rap, nl, ...identifier });
    }
    const done = this.#store.commit();
    const forget = () => {
      this.#adding = null;
    };
    // Not a promise made of it: that would resolve after the one of an UNSUBSCRIBE that came later.
    done.then(forget, forget);
    this.#adding = { subscriptions, done };
    return done;
  }

  async removeSubscriptions(client: ClientRef, filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.#store.sessions.unsubscribe(client.id, filter);
    await this.#store.commit();
  }

  async subscriptionsByClient(client: ClientRef): Promise<SubscriptionRequest[]> {
    const session = this.#store.sessions.get(client.id);
    // aedes says that a session is present where it has subscriptions [MQTT-3.2.2-2]. This one nobody is granted.
    if (session?.isResumed && session.subscriptions.size === 0) return [{ topic: NOWHERE, qos: 0 }];
    return Array.from(session?.subscriptions ?? [], ([topic, record]) => ({ topic, ...record }));
  }

  async subscriptionsByTopic(topic: string): Promise<MatchedSubscription[]> {
    return this.#store.sessions.match(topic);
  }

  /**
   * A clean session begins: everything the client left is gone, its queue too. For a session that stays, `Admission` did that
   * already and began a new one, which this call would end.
   */
  async cleanSubscriptions(client: ClientRef): Promise<void> {
    if (client.clean === false) return;
    if (this.#store.sessions.remove(client.id)) await this.#store.commit();
  }

  async countOffline(): Promise<{ subsCount: number; clientsCount: number }> {
    const { sessions } = this.#store;
    let clientsCount = 0;
    for (const session of sessions.all()) if (session.subscriptions.size > 0) clientsCount += 1;
    return { subsCount: sessions.subscriptionCount, clientsCount };
  }

  async outgoingEnqueue(subscription: { readonly clientId: string }, packet: PacketRef): Promise<void> {
    await this.outgoingEnqueueCombi([subscription], packet);
  }

  async outgoingEnqueueCombi(
    subscriptions: readonly { readonly clientId: string }[],
    packet: PacketRef,
  ): Promise<void> {
    const { sessions, queues } = this.#store;
    const { topic, payload, properties, qos } = packet;
    const message = sessions.enqueue(subscriptions, { topic, payload, properties, qos: qos === 2 ? 2 : 1 });
    if (!message) return;
    queues.number(message, { brokerId: packet.brokerId ?? '', counter: packet.brokerCounter ?? 0 });
    await this.#store.commit();
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
    // Not found: its queue was full, it is retained, or its subscription ended meanwhile. It is sent all the same.
    const entry = session.byCounter.get(packet.brokerCounter ?? 0);
    if (!entry) return;
    queues.sent(session, entry, packet.messageId);
    // QoS 2 is sent again under the same packet id or the receiver sees it twice.
    if (entry.qos === 2) await this.#store.commit();
  }

  /** Without a packet id nothing is cleared: aedes asks so for any message it did not forward, duplicates among them. */
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

  /** Snapshot of the queue; what expired unsent leaves it. */
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
    // What was consumed already is not held on to.
    const payload = topic === NOWHERE ? '' : sent;
    const kept = { cmd, topic, payload, qos, retain, dup, messageId };
    this.#store.incoming.keep(client.id, messageId ?? 0, kept, sent.length);
  }

  async incomingGetPacket(client: ClientRef, packet: PacketRef): Promise<object> {
    const found = this.#store.incoming.get(client.id, packet.messageId ?? 0);
    if (!found) throw new Error('no such packet');
    return found;
  }

  async incomingDelPacket(client: ClientRef, packet: PacketRef): Promise<void> {
    if (!this.#store.incoming.release(client, packet.messageId ?? 0)) throw new Error('no such packet');
    // An id left on disk after PUBCOMP would swallow the next publish that uses it.
    if (client.clean === false) await this.#store.commit();
  }

  async cleanIncoming(client: ClientRef): Promise<void> {
    this.#store.incoming.clear(client.id);
  }

  async putWill(client: ClientRef, packet: WillPacket): Promise<void> {
    if (this.#broker) packet.brokerId = this.#broker.id;
    packet.clientId = client.id;
    this.#store.wills.put(client.id, packet);
  }

  async getWill(client: ClientRef): Promise<WillPacket | undefined> {
    return this.#store.wills.get(client.id);
  }

  async delWill(client: ClientRef): Promise<WillPacket | undefined> {
    return this.#store.wills.remove(client.id);
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from(this.#store.wills.all().filter(({ brokerId }) => !brokers[brokerId ?? '']));
  }

  getClientList(filter: string): Readable {
    const ids: string[] = [];
    for (const session of this.#store.sessions.all()) if (session.subscriptions.has(filter)) ids.push(session.id);
    return Readable.from(ids);
  }

  async destroy(): Promise<void> {
    this.#store.close();
  }
}
