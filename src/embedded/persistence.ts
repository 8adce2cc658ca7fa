import { Readable } from 'node:stream';
import { Journal } from './journal.ts';
import { type RetainedPacket, RetainedStore } from './retained-store.ts';
import {
  type MatchedSubscription,
  type QueueEntry,
  type QueueLimits,
  type Session,
  SessionStore,
  type StoredMessage,
  type SubscriptionRecord,
} from './session-store.ts';

/** What the persistence reads of the broker core's clients and packets. */
export interface ClientRef {
  readonly id: string;
  readonly clean?: boolean;
}

export interface PacketRef {
  readonly cmd?: string;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly messageId?: number | undefined;
  readonly brokerId?: string;
  readonly brokerCounter?: number;
}

export interface WillPacket {
  topic: string;
  payload: Uint8Array | string;
  qos: number;
  retain: boolean;
  brokerId?: string;
  clientId?: string;
}

interface BrokerRef {
  readonly id: string;
  counter: number;
}

interface SubscriptionRequest extends SubscriptionRecord {
  readonly topic: string;
}

export interface PersistenceLimits extends QueueLimits {
  /** 100,000. */
  readonly retainedMessages: number;
  /** Payload bytes; 128 MiB. */
  readonly retainedBytes: number;
}

export const DEFAULT_LIMITS: PersistenceLimits = {
  offlineMessages: 1_000,
  onlineMessages: 20_000,
  sessionBytes: 32 * 1_048_576,
  totalBytes: 256 * 1_048_576,
  retainedMessages: 100_000,
  retainedBytes: 128 * 1_048_576,
};

export interface PersistenceOptions {
  readonly folder: string;
  readonly limits?: Partial<PersistenceLimits>;
  readonly onBroken: (error: Error) => void;
}

/** What one accepted publish left behind. */
export interface Accepted {
  /** Null: no session queues it. */
  readonly message: StoredMessage | null;
  /** Whether the acknowledgement has to wait for `commit()`. */
  readonly isDurable: boolean;
}

/**
 * aedes-persistence 11 over memory and a journal (`journal.ts`), and `accept`, which the adapter uses in place of aedes' own
 * order of things: aedes acknowledges a QoS 1 publish before it stores it.
 *
 * Promises: what a resolved `commit()` covers survives a killed process. Resolved without a commit, because nothing was
 * acknowledged by it: the packet id of a QoS 1 message that is sent (a lost one means one duplicate), an acknowledged message
 * leaving its queue (likewise), and wills (on disk within the journal's lazy time).
 */
export class Persistence {
  readonly journal: Journal;
  readonly sessions: SessionStore;
  readonly retained: RetainedStore;
  /** Packet ids of QoS 2 publishes that came and wait for PUBREL. Those of clean sessions are not in the journal. */
  readonly #incoming = new Map<string, Map<number, object>>();
  readonly #wills = new Map<string, WillPacket>();
  /** Refuses what a client asked for in the same SUBSCRIBE as filters it may have; set by the adapter. */
  admits: (client: ClientRef, filter: string) => boolean = () => true;
  #broker: BrokerRef | null = null;
  #adding: { readonly subscriptions: readonly unknown[]; readonly done: Promise<void> } | null = null;

  constructor({ folder, limits, onBroken }: PersistenceOptions) {
    const all = { ...DEFAULT_LIMITS, ...limits };
    this.journal = new Journal({ folder, onBroken });
    this.sessions = new SessionStore(this.journal, all);
    this.retained = new RetainedStore(this.journal, { maxCount: all.retainedMessages, maxBytes: all.retainedBytes });
  }

  get broker(): BrokerRef | null {
    return this.#broker;
  }

  // aedes insists on an async function.
  async setup(broker: BrokerRef): Promise<void> {
    this.#broker = broker;
    const number = () => {
      broker.counter += 1;
      return { brokerId: broker.id, counter: broker.counter };
    };
    this.sessions.load(number, Date.now());
    const incoming = this.journal.rows<{ client_id: string; packet_id: number }>('SELECT * FROM incoming');
    for (const { client_id, packet_id } of incoming) this.#incomingOf(client_id).set(packet_id, RECEIVED);
    type WillRow = { client_id: string; topic: string; payload: Buffer; qos: number; retain: number };
    for (const { client_id, topic, payload, qos, retain } of this.journal.rows<WillRow>('SELECT * FROM will')) {
      this.#wills.set(client_id, { topic, payload, qos, retain: retain === 1, clientId: client_id });
    }
  }

  commit(): Promise<void> {
    return this.journal.commit();
  }

  /** Takes a publish in: retains it, queues it, and remembers its QoS 2 packet id, all in one transaction. */
  accept(client: ClientRef | null, packet: PacketRef): Accepted {
    const { topic, qos, messageId } = packet;
    const matches = qos > 0 ? this.sessions.match(topic) : [];
    // What is kept must not hold on to the socket buffer it was read in.
    const payload = packet.retain || matches.length > 0 ? compact(packet.payload) : packet.payload;
    let isDurable = packet.retain ? this.#retain(packet, payload) : false;
    const message = qos > 0 ? this.sessions.enqueue(matches, topic, payload, qos === 2 ? 2 : 1) : null;
    if (message) isDurable = true;
    if (client && qos === 2 && messageId !== undefined) {
      this.#incomingOf(client.id).set(messageId, RECEIVED);
      if (client.clean === false) {
        this.journal.add('INSERT OR IGNORE INTO incoming VALUES (?, ?)', client.id, messageId);
        isDurable = true;
      }
    }
    return { message, isDurable };
  }

  #retain(packet: PacketRef, payload: Uint8Array | string): boolean {
    // Which QoS there is, the parser checked.
    const qos = packet.qos as 0 | 1 | 2;
    return this.retained.put({ cmd: 'publish', topic: packet.topic, payload, qos, retain: true });
  }

  incomingCount(clientId: string): number {
    return this.#incoming.get(clientId)?.size ?? 0;
  }

  hasIncoming(clientId: string, packetId: number): boolean {
    return this.#incoming.get(clientId)?.has(packetId) ?? false;
  }

  /** Messages of a session that no connection has sent yet, oldest first. */
  unsent(session: Session): object[] {
    const packets: object[] = [];
    for (const entry of session.queue.values()) {
      if (entry.packetId === undefined && entry.message.counter > 0) packets.push(outgoingPacket(entry));
    }
    return packets;
  }

  /** A message leaves the queue of a session unsent. */
  discard(clientId: string, brokerCounter: number): void {
    const session = this.sessions.get(clientId);
    const entry = session?.byCounter.get(brokerCounter);
    if (session && entry) this.sessions.settle(session, entry);
  }

  async storeRetained(packet: PacketRef & { readonly retain: true }): Promise<void> {
    // The broker core's packet as it is; the adapter's own way in is `accept`.
    const copy = { ...packet } as unknown as RetainedPacket;
    if (this.retained.put(copy)) await this.commit();
  }

  createRetainedStream(filter: string): Readable {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(this.retained.matching(filters));
  }

  addSubscriptions(client: ClientRef, subscriptions: readonly SubscriptionRequest[]): Promise<void> {
    // aedes asks once for each filter of a SUBSCRIBE, always with all of them.
    if (this.#adding?.subscriptions === subscriptions) return this.#adding.done;
    for (const { topic, ...record } of subscriptions) {
      if (!this.admits(client, topic)) continue;
      const { qos, rh, rap, nl, subscriptionIdentifier } = record;
      const identifier = subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier };
      this.sessions.subscribe(client.id, topic, { qos, rh, rap, nl, ...identifier });
    }
    const done = this.commit().finally(() => {
      this.#adding = null;
    });
    this.#adding = { subscriptions, done };
    return done;
  }

  async removeSubscriptions(client: ClientRef, filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.sessions.unsubscribe(client.id, filter);
    await this.commit();
  }

  async subscriptionsByClient(client: ClientRef): Promise<SubscriptionRequest[]> {
    const subscriptions = this.sessions.get(client.id)?.subscriptions ?? [];
    return Array.from(subscriptions, ([topic, record]) => ({ topic, ...record }));
  }

  async subscriptionsByTopic(topic: string): Promise<MatchedSubscription[]> {
    return this.sessions.match(topic);
  }

  /** A clean session begins: everything the client left is gone, its queue too. */
  async cleanSubscriptions(client: ClientRef): Promise<void> {
    if (this.sessions.remove(client.id)) await this.commit();
  }

  async countOffline(): Promise<{ subsCount: number; clientsCount: number }> {
    let clientsCount = 0;
    for (const session of this.sessions.all()) if (session.subscriptions.size > 0) clientsCount += 1;
    return { subsCount: this.sessions.subscriptionCount, clientsCount };
  }

  async outgoingEnqueue(subscription: { readonly clientId: string }, packet: PacketRef): Promise<void> {
    await this.outgoingEnqueueCombi([subscription], packet);
  }

  async outgoingEnqueueCombi(
    subscriptions: readonly { readonly clientId: string }[],
    packet: PacketRef,
  ): Promise<void> {
    const qos = packet.qos === 2 ? 2 : 1;
    const message = this.sessions.enqueue(subscriptions, packet.topic, packet.payload, qos);
    if (!message) return;
    this.sessions.number(message, packet.brokerId ?? '', packet.brokerCounter ?? 0);
    await this.commit();
  }

  async outgoingUpdate(client: ClientRef, packet: PacketRef): Promise<void> {
    const session = this.sessions.get(client.id);
    if (!session || packet.messageId === undefined) return;
    if (packet.cmd === 'pubrel') {
      const entry = this.sessions.entryByPacketId(session, packet.messageId);
      if (!entry) return;
      this.sessions.released(session, entry);
      await this.commit();
      return;
    }
    // Not found: its queue was full, it is retained, or its subscription ended meanwhile. It is sent all the same.
    const entry = session.byCounter.get(packet.brokerCounter ?? 0);
    if (!entry) return;
    this.sessions.sent(session, entry, packet.messageId);
    // QoS 2 is sent again under the same packet id or the receiver sees it twice.
    if (entry.qos === 2) await this.commit();
  }

  /** Without a packet id nothing is cleared: aedes asks so for any message it did not forward, duplicates among them. */
  async outgoingClearMessageId(client: ClientRef, packet: PacketRef): Promise<object | undefined> {
    const session = this.sessions.get(client.id);
    if (!session || packet.messageId === undefined) return undefined;
    const entry = this.sessions.entryByPacketId(session, packet.messageId);
    if (!entry) return undefined;
    const cleared = outgoingPacket(entry);
    this.sessions.settle(session, entry);
    return cleared;
  }

  outgoingStream(client: ClientRef): Readable {
    const session = this.sessions.get(client.id);
    const packets: object[] = [];
    if (session) {
      for (const entry of session.queue.values()) {
        // Not numbered: it is being committed and will be delivered as a live message.
        if (entry.message.counter > 0 || entry.packetId !== undefined) packets.push(outgoingPacket(entry));
      }
    }
    return Readable.from(packets);
  }

  async incomingStorePacket(client: ClientRef, packet: PacketRef): Promise<void> {
    const { cmd, topic, payload, qos, retain, dup, messageId } = packet;
    this.#incomingOf(client.id).set(messageId ?? 0, { cmd, topic, payload, qos, retain, dup, messageId });
  }

  async incomingGetPacket(client: ClientRef, packet: PacketRef): Promise<object> {
    const found = this.#incoming.get(client.id)?.get(packet.messageId ?? 0);
    if (!found) throw new Error('no such packet');
    return found;
  }

  async incomingDelPacket(client: ClientRef, packet: PacketRef): Promise<void> {
    const packetId = packet.messageId ?? 0;
    const ids = this.#incoming.get(client.id);
    if (!ids?.delete(packetId)) throw new Error('no such packet');
    if (ids.size === 0) this.#incoming.delete(client.id);
    if (client.clean !== false) return;
    this.journal.add('DELETE FROM incoming WHERE client_id = ? AND packet_id = ?', client.id, packetId);
    // An id left on disk after PUBCOMP would swallow the next publish that uses it.
    await this.commit();
  }

  async cleanIncoming(client: ClientRef): Promise<void> {
    if (!this.#incoming.delete(client.id)) return;
    this.journal.add('DELETE FROM incoming WHERE client_id = ?', client.id);
  }

  async putWill(client: ClientRef, packet: WillPacket): Promise<void> {
    if (this.#broker) packet.brokerId = this.#broker.id;
    packet.clientId = client.id;
    this.#wills.set(client.id, packet);
    const sql = 'INSERT OR REPLACE INTO will VALUES (?, ?, ?, ?, ?)';
    this.journal.add(sql, client.id, packet.topic, Buffer.from(packet.payload), packet.qos, packet.retain ? 1 : 0);
  }

  async getWill(client: ClientRef): Promise<WillPacket | undefined> {
    return this.#wills.get(client.id);
  }

  async delWill(client: ClientRef): Promise<WillPacket | undefined> {
    const will = this.#wills.get(client.id);
    if (!will) return undefined;
    this.#wills.delete(client.id);
    this.journal.add('DELETE FROM will WHERE client_id = ?', client.id);
    return will;
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from([...this.#wills.values()].filter(({ brokerId }) => !brokers[brokerId ?? '']));
  }

  getClientList(filter: string): Readable {
    const ids: string[] = [];
    for (const session of this.sessions.all()) if (session.subscriptions.has(filter)) ids.push(session.id);
    return Readable.from(ids);
  }

  async destroy(): Promise<void> {
    this.journal.close();
  }

  #incomingOf(clientId: string): Map<number, object> {
    let ids = this.#incoming.get(clientId);
    if (!ids) {
      ids = new Map();
      this.#incoming.set(clientId, ids);
    }
    return ids;
  }
}

/** Stands for a QoS 2 publish that was taken in: only its packet id matters from then on. */
const RECEIVED: object = Object.freeze({});

function compact(payload: Uint8Array | string): Uint8Array | string {
  if (typeof payload === 'string') return payload;
  const copy = Buffer.allocUnsafeSlow(payload.length);
  copy.set(payload);
  return copy;
}

/** A queued message as aedes sends it. */
function outgoingPacket({ message, qos, packetId, released, dup }: QueueEntry): object {
  if (released) return { cmd: 'pubrel', messageId: packetId };
  return {
    cmd: 'publish',
    brokerId: message.brokerId,
    brokerCounter: message.counter,
    topic: message.topic,
    payload: message.payload,
    qos,
    retain: false,
    dup,
    messageId: packetId,
  };
}
