import { filterWeight } from '../connecting/topic-rules.ts';
import type { Journal } from './journal.ts';
import type { MessageQueues } from './message-queues.ts';
import { Session, type SessionAbout, type Traffic } from './session.ts';
import type { Subscription, SubscriptionRecord } from './subscription.ts';
import type { SubscriptionIndex } from './subscription-index.ts';

/** Persistent sessions and their subscriptions, in memory and in the journal. Methods do not wait for the journal. */
export class SessionStore {
  readonly #journal: Journal;
  readonly #queues: MessageQueues;
  readonly #sessions = new Map<string, Session>();
  readonly #index: SubscriptionIndex;
  filterWeight = 0;
  onMember: (clientId: string) => void = () => {};
  /** Called when a session ends, before its queue is deleted. */
  onEnd: (session: Session) => void = () => {};

  constructor(journal: Journal, queues: MessageQueues, index: SubscriptionIndex) {
    this.#journal = journal;
    this.#queues = queues;
    this.#index = index;
  }

  load(now: number): void {
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
      this.#put(this.#ensure(row.client_id), row.filter, { ...options, qos: row.qos });
    }
    this.#queues.load((clientId) => this.#ensure(clientId));
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
    this.#index.regroup(session);
    session.online = true;
    session.markDuplicates();
    this.#describe(session, about);
    return session;
  }

  leave(session: Session, now: number, expirySeconds: number | null, traffic?: Traffic): void {
    session.online = false;
    // The connection with its socket and buffers would take several times the memory of the session.
    session.owner = null;
    if (this.#sessions.get(session.id) === session) this.#index.regroup(session);
    session.markDuplicates();
    if (session.about && this.#sessions.get(session.id) === session) {
      const about = { ...session.about, lastDisconnect: now, expirySeconds };
      this.#describe(session, traffic ? { ...about, traffic } : about);
    }
  }

  remove(clientId: string): boolean {
    const session = this.#sessions.get(clientId);
    if (!session) return false;
    for (const subscription of session.subscriptions.values()) this.#index.remove(subscription);
    this.filterWeight -= session.filterWeight;
    this.onEnd(session);
    this.#queues.end(session);
    this.#sessions.delete(clientId);
    this.onMember(clientId);
    this.#journal.add('DELETE FROM session WHERE client_id = ?', clientId);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ?', clientId);
    return true;
  }

  subscribe(clientId: string, filter: string, record: SubscriptionRecord): Subscription {
    const session = this.#ensure(clientId);
    const isStored = this.hasSame(session, filter, record);
    const subscription = this.#put(session, filter, record);
    if (isStored) return subscription;
    const { qos, ...rest } = record;
    const options = Object.values(rest).some((value) => value !== undefined) ? JSON.stringify(rest) : null;
    const sql = 'INSERT OR REPLACE INTO subscription (client_id, filter, qos, options) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, clientId, filter, qos, options);
    return subscription;
  }

  /** Whether the session has the subscription with the same options, so that nothing needs to be stored. */
  hasSame(session: Session, filter: string, record: SubscriptionRecord): boolean {
    const { qos, nl, rap, rh, subscriptionIdentifier } = session.subscriptions.get(filter) ?? {};
    return (
      qos === record.qos &&
      nl === record.nl &&
      rap === record.rap &&
      rh === record.rh &&
      subscriptionIdentifier === record.subscriptionIdentifier
    );
  }

  /** Returns whether there was such a subscription. */
  unsubscribe(clientId: string, filter: string): boolean {
    const session = this.#sessions.get(clientId);
    const subscription = session?.subscriptions.get(filter);
    if (!session || !subscription) return false;
    session.subscriptions.delete(filter);
    this.#index.remove(subscription);
    this.#weigh(session, -filterWeight(filter));
    this.#journal.add('DELETE FROM subscription WHERE client_id = ? AND filter = ?', clientId, filter);
    // A session without a client and without subscriptions is not needed.
    if (session.subscriptions.size > 0 || session.about !== null) return true;
    this.#sessions.delete(clientId);
    this.onMember(clientId);
    return true;
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
    const sql = 'INSERT OR REPLACE INTO session VALUES (?, ?)';
    this.#journal.addLatest(`session ${session.id}`, sql, session.id, JSON.stringify(about));
  }

  #weigh(session: Session, weight: number): void {
    session.filterWeight += weight;
    this.filterWeight += weight;
  }

  #put(session: Session, filter: string, record: SubscriptionRecord): Subscription {
    const previous = session.subscriptions.get(filter);
    if (!previous) this.#weigh(session, filterWeight(filter));
    const subscription: Subscription = { holder: session, clientId: session.id, topic: filter, ...record };
    session.subscriptions.set(filter, subscription);
    this.#index.add(subscription, previous);
    return subscription;
  }
}
