import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import { filterWeight } from '../topic-rules.ts';
import type { Journal } from './journal.ts';
import type { MessageProperties } from './message-properties.ts';
import type { DeliveryNumber, Grant, MessageQueues } from './message-queues.ts';
import {
  Session,
  type SessionAbout,
  type SessionSubscription,
  type StoredMessage,
  type SubscriptionRecord,
  type Traffic,
} from './session.ts';

interface QueuedMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 1 | 2;
  readonly retain?: boolean;
  readonly properties?: MessageProperties | undefined;
  /** `null` or missing if the broker itself publishes. */
  readonly publisherId?: string | null;
}

interface SubscriptionListener {
  subscribed(session: Session, filter: string, qos: 0 | 1 | 2, isNew: boolean): void;
  unsubscribed(session: Session, filter: string): void;
  ended(session: Session): void;
}

/** Persistent sessions and their subscriptions, in memory and in the journal. Methods do not wait for the journal. */
export class SessionStore {
  readonly #journal: Journal;
  readonly #queues: MessageQueues;
  readonly #sessions = new Map<string, Session>();
  /** Subscriptions with a queue, which have QoS 1 or 2. */
  readonly #tree = new FilterTree<SessionSubscription>();
  filterWeight = 0;
  onMember: (clientId: string) => void = () => {};
  subscriptionListener: SubscriptionListener | null = null;

  constructor(journal: Journal, queues: MessageQueues) {
    this.#journal = journal;
    this.#queues = queues;
  }

  load(number: () => DeliveryNumber, now: number): void {
    const sessions = this.#journal.rows<{ client_id: string; about: string }>('SELECT client_id, about FROM session');
    for (const row of sessions) {
      const session = this.#ensure(row.client_id);
      session.about = JSON.parse(row.about) as SessionAbout;
      // The broker ended before the connection, so the client counts as offline from this start.
      const { lastDisconnect, lastConnect } = session.about;
      if (!lastDisconnect || lastDisconnect < lastConnect) {
        this.#describe(session, { ...session.about, lastDisconnect: now });
      }
    }
    type SubscriptionRow = { client_id: string; filter: string; qos: 0 | 1 | 2; options: string | null };
    for (const row of this.#journal.rows<SubscriptionRow>('SELECT * FROM subscription')) {
      const options = row.options === null ? {} : JSON.parse(row.options);
      this.#index(this.#ensure(row.client_id), row.filter, { ...options, qos: row.qos });
    }
    this.#queues.load((clientId) => this.#ensure(clientId), number);
  }

  get(clientId: string): Session | undefined {
    return this.#sessions.get(clientId);
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  get count(): number {
    return this.#sessions.size;
  }

  open(clientId: string, about: SessionAbout, owner: object): Session {
    const isResumed = this.#sessions.has(clientId);
    const session = this.#ensure(clientId);
    session.isResumed = isResumed;
    session.owner = owner;
    session.online = true;
    session.markDuplicates();
    this.#describe(session, about);
    return session;
  }

  leave(session: Session, now: number, expirySeconds: number | null, traffic?: Traffic): void {
    session.online = false;
    // The connection with its socket and buffers would take several times the memory of the session.
    session.owner = null;
    session.markDuplicates();
    if (session.about && this.#sessions.get(session.id) === session) {
      const about = { ...session.about, lastDisconnect: now, expirySeconds };
      this.#describe(session, traffic ? { ...about, traffic } : about);
    }
  }

  remove(clientId: string): boolean {
    const session = this.#sessions.get(clientId);
    if (!session) return false;
    for (const [filter, subscription] of session.subscriptions) this.#tree.remove(filter, subscription);
    this.filterWeight -= session.filterWeight;
    this.#queues.end(session);
    this.#sessions.delete(clientId);
    this.subscriptionListener?.ended(session);
    this.onMember(clientId);
    this.#journal.add('DELETE FROM session WHERE client_id = ?', clientId);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ?', clientId);
    return true;
  }

  subscribe(clientId: string, filter: string, record: SubscriptionRecord): void {
    const session = this.#ensure(clientId);
    const isNew = !session.subscriptions.has(filter);
    this.#index(session, filter, record);
    const { qos, ...rest } = record;
    this.subscriptionListener?.subscribed(session, filter, qos, isNew);
    const options = Object.values(rest).some((value) => value !== undefined) ? JSON.stringify(rest) : null;
    const sql = 'INSERT OR REPLACE INTO subscription (client_id, filter, qos, options) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, clientId, filter, qos, options);
  }

  unsubscribe(clientId: string, filter: string): void {
    const session = this.#sessions.get(clientId);
    const subscription = session?.subscriptions.get(filter);
    if (!session || !subscription) return;
    session.subscriptions.delete(filter);
    this.#tree.remove(filter, subscription);
    this.#weigh(session, -filterWeight(filter));
    this.subscriptionListener?.unsubscribed(session, filter);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ? AND filter = ?', clientId, filter);
    // A session without a client and without subscriptions is not needed.
    if (session.subscriptions.size > 0 || session.about !== null) return;
    this.#sessions.delete(clientId);
    this.onMember(clientId);
  }

  match(topic: string): SessionSubscription[] {
    return this.#tree.match(topic);
  }

  /** Queues a message once per session, at its highest granted QoS. `null` if no session queues it. */
  enqueue(
    subscriptions: readonly ({ readonly clientId: string } & Partial<SubscriptionRecord>)[],
    message: QueuedMessage,
  ): StoredMessage | null {
    if (subscriptions.length === 0) return null;
    const { qos, retain, publisherId } = message;
    const granted = new Map<Session, Grant>();
    for (const { clientId, qos: limit = qos, rap, nl } of subscriptions) {
      // No Local [MQTT-3.8.3-3].
      if (nl === true && clientId === publisherId) continue;
      const session = this.#ensure(clientId);
      const level = limit >= 2 && qos === 2 ? 2 : 1;
      const grant = granted.get(session);
      const keepsFlag = (rap === true && retain === true) || grant?.retain === true;
      if (!grant || grant.qos < level || grant.retain !== keepsFlag) {
        granted.set(session, { qos: grant?.qos === 2 ? 2 : level, retain: keepsFlag });
      }
    }
    return this.#queues.add(granted, message);
  }

  #ensure(clientId: string): Session {
    let session = this.#sessions.get(clientId);
    if (!session) {
      session = new Session(clientId);
      this.#sessions.set(clientId, session);
      this.onMember(clientId);
    }
    return session;
  }

  #describe(session: Session, about: SessionAbout): void {
    session.about = about;
    this.#journal.add('INSERT OR REPLACE INTO session VALUES (?, ?)', session.id, JSON.stringify(about));
  }

  #weigh(session: Session, weight: number): void {
    session.filterWeight += weight;
    this.filterWeight += weight;
  }

  #index(session: Session, filter: string, record: SubscriptionRecord): void {
    const previous = session.subscriptions.get(filter);
    if (previous) this.#tree.remove(filter, previous);
    else this.#weigh(session, filterWeight(filter));
    const subscription = { clientId: session.id, topic: filter, ...record };
    session.subscriptions.set(filter, subscription);
    if (record.qos > 0) this.#tree.add(filter, subscription);
  }
}
