import type { Journal } from './journal.ts';
import { SubscriptionTree } from './topic-filter.ts';

/** What is told of a session while its client is away. Times are epoch milliseconds. */
export interface SessionAbout {
  readonly username: string | null;
  readonly address: string;
  readonly remotePort: number;
  readonly protocol: 'MQTT' | 'MQTT-WS';
  readonly protocolVersion: number;
  readonly keepalive: number;
  readonly listener: { readonly port: number; readonly host: string };
  readonly lastConnect: number;
  readonly lastDisconnect: number | null;
}

export interface SubscriptionRecord {
  readonly qos: 0 | 1 | 2;
  /** MQTT 5 subscription options, as the broker core hands them over. */
  readonly [option: string]: unknown;
}

export interface MatchedSubscription extends SubscriptionRecord {
  readonly clientId: string;
  readonly topic: string;
}

/** A payload, kept once for all the sessions that wait for it. */
export interface StoredMessage {
  readonly id: number;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  /** How the broker core numbers what it delivers; 0 until it is delivered. */
  brokerId: string | undefined;
  counter: number;
  references: number;
  /** Until it is numbered: where it is queued. */
  queued: { readonly session: Session; readonly entry: QueueEntry }[];
}

export interface QueueEntry {
  readonly position: number;
  readonly message: StoredMessage;
  readonly qos: 1 | 2;
  /** Set once it was sent. */
  packetId: number | undefined;
  /** QoS 2: PUBREC came, PUBREL is what would be sent again. */
  released: boolean;
  /** It was sent on a connection that ended. */
  dup: boolean;
}

export class Session {
  readonly id: string;
  readonly subscriptions = new Map<string, SubscriptionRecord>();
  readonly queue = new Map<number, QueueEntry>();
  readonly byPacketId = new Map<number, QueueEntry>();
  readonly byCounter = new Map<number, QueueEntry>();
  about: SessionAbout | null = null;
  online = false;
  nextPosition = 1;
  queuedBytes = 0;
  dropped = 0;

  constructor(id: string) {
    this.id = id;
  }
}

export interface QueueLimits {
  /** Messages queued for a client that is away (Mosquitto's max_queued_messages); 1,000. */
  readonly offlineMessages: number;
  /** Messages sent to a connected client and not acknowledged yet; 20,000. */
  readonly onlineMessages: number;
  /** Payload bytes of one session; 32 MiB. */
  readonly sessionBytes: number;
  /** Payload bytes of all sessions, each payload once; 256 MiB. */
  readonly totalBytes: number;
}

/**
 * Persistent sessions: subscriptions and the queue of QoS 1 and 2 messages, indexed in memory, written to the journal.
 * A queue that is full refuses the newest message and counts it. Whoever acknowledges anything to a client waits for the
 * journal's commit first; nothing here waits.
 */
export class SessionStore {
  readonly #journal: Journal;
  readonly #limits: QueueLimits;
  readonly #sessions = new Map<string, Session>();
  readonly #tree = new SubscriptionTree<MatchedSubscription>();
  #nextMessageId = 1;
  #messages = 0;
  #bytes = 0;
  #dropped = 0;

  constructor(journal: Journal, limits: QueueLimits) {
    this.#journal = journal;
    this.#limits = limits;
  }

  /** `number` gives each message its place among what the broker core delivers. */
  load(number: () => { brokerId: string; counter: number }, now: number): void {
    type SessionRow = { client_id: string; about: string };
    for (const row of this.#journal.rows<SessionRow>('SELECT client_id, about FROM session')) {
      const session = this.#ensure(row.client_id);
      // Written by this class.
      session.about = JSON.parse(row.about) as SessionAbout;
      // The broker ended before the client did, so this start is the first moment it is known to be away.
      if (!session.about.lastDisconnect || session.about.lastDisconnect < session.about.lastConnect) {
        this.#describe(session, { ...session.about, lastDisconnect: now });
      }
    }
    type SubscriptionRow = { client_id: string; filter: string; qos: 0 | 1 | 2; options: string | null };
    for (const row of this.#journal.rows<SubscriptionRow>('SELECT * FROM subscription')) {
      const options = row.options === null ? {} : JSON.parse(row.options);
      this.#index(this.#ensure(row.client_id), row.filter, { ...options, qos: row.qos });
    }
    this.#loadQueues(number);
  }

  #loadQueues(number: () => { brokerId: string; counter: number }): void {
    this.#journal.add('DELETE FROM message WHERE id NOT IN (SELECT message_id FROM queue)');
    const messages = new Map<number, StoredMessage>();
    type MessageRow = { id: number; topic: string; payload: Buffer };
    const kept = 'SELECT * FROM message WHERE id IN (SELECT message_id FROM queue) ORDER BY id';
    for (const row of this.#journal.rows<MessageRow>(kept)) {
      messages.set(row.id, { ...row, ...number(), references: 0, queued: [] });
      this.#nextMessageId = row.id + 1;
    }
    const [last] = this.#journal.rows<{ id: number | null }>('SELECT max(id) AS id FROM message');
    this.#nextMessageId = Math.max(this.#nextMessageId, (last?.id ?? 0) + 1);
    type QueueRow = {
      client_id: string;
      position: number;
      message_id: number;
      qos: 1 | 2;
      packet_id: number | null;
      released: number;
    };
    for (const row of this.#journal.rows<QueueRow>('SELECT * FROM queue ORDER BY client_id, position')) {
      const message = messages.get(row.message_id);
      if (!message) continue;
      const session = this.#ensure(row.client_id);
      const packetId = row.packet_id ?? undefined;
      const sent = packetId !== undefined;
      const entry = {
        position: row.position,
        message,
        qos: row.qos,
        packetId,
        released: row.released === 1,
        dup: sent,
      };
      session.nextPosition = row.position + 1;
      this.#link(session, entry);
      session.byCounter.set(message.counter, entry);
    }
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

  get subscriptionCount(): number {
    return this.#tree.size;
  }

  get messageCount(): number {
    return this.#messages;
  }

  get messageBytes(): number {
    return this.#bytes;
  }

  get dropped(): number {
    return this.#dropped;
  }

  open(clientId: string, about: SessionAbout): Session {
    const session = this.#ensure(clientId);
    session.online = true;
    markSent(session);
    this.#describe(session, about);
    return session;
  }

  /** The client went; its session stays. */
  leave(session: Session, now: number): void {
    session.online = false;
    markSent(session);
    if (session.about && this.#sessions.get(session.id) === session) {
      this.#describe(session, { ...session.about, lastDisconnect: now });
    }
  }

  remove(clientId: string): boolean {
    const session = this.#sessions.get(clientId);
    if (!session) return false;
    for (const filter of session.subscriptions.keys()) this.#tree.remove(filter, clientId);
    for (const entry of session.queue.values()) this.#unlink(session, entry);
    this.#sessions.delete(clientId);
    this.#journal.add('DELETE FROM session WHERE client_id = ?', clientId);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ?', clientId);
    this.#journal.add('DELETE FROM queue WHERE client_id = ?', clientId);
    return true;
  }

  subscribe(clientId: string, filter: string, record: SubscriptionRecord): void {
    this.#index(this.#ensure(clientId), filter, record);
    const { qos, ...rest } = record;
    const options = Object.values(rest).some((value) => value !== undefined) ? JSON.stringify(rest) : null;
    const sql = 'INSERT OR REPLACE INTO subscription (client_id, filter, qos, options) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, clientId, filter, qos, options);
  }

  unsubscribe(clientId: string, filter: string): void {
    const session = this.#sessions.get(clientId);
    if (!session?.subscriptions.delete(filter)) return;
    this.#tree.remove(filter, clientId);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ? AND filter = ?', clientId, filter);
    // A session that never connected here has nothing left to be kept for.
    if (session.subscriptions.size === 0 && session.about === null) this.#sessions.delete(clientId);
  }

  match(topic: string): MatchedSubscription[] {
    return this.#tree.match(topic);
  }

  /** Queues a message for each session among `subscriptions`, once, at the highest of its granted QoS; null: for none. */
  enqueue(
    subscriptions: readonly { readonly clientId: string; readonly qos?: number }[],
    topic: string,
    payload: Uint8Array | string,
    qos: 1 | 2,
  ): StoredMessage | null {
    if (subscriptions.length === 0) return null;
    const granted = new Map<string, 1 | 2>();
    for (const { clientId, qos: limit = qos } of subscriptions) {
      const level = limit >= 2 && qos === 2 ? 2 : 1;
      if ((granted.get(clientId) ?? 0) < level) granted.set(clientId, level);
    }
    let message: StoredMessage | null = null;
    for (const [clientId, level] of granted) {
      const session = this.#ensure(clientId);
      const limit = session.online ? this.#limits.onlineMessages : this.#limits.offlineMessages;
      const isFull = session.queue.size >= limit || session.queuedBytes + payload.length > this.#limits.sessionBytes;
      if (isFull || (!message && this.#bytes + payload.length > this.#limits.totalBytes)) {
        session.dropped += 1;
        this.#dropped += 1;
        continue;
      }
      message ??= this.#store(topic, payload);
      const position = session.nextPosition;
      session.nextPosition += 1;
      const entry: QueueEntry = { position, message, qos: level, packetId: undefined, released: false, dup: false };
      this.#link(session, entry);
      message.queued.push({ session, entry });
      const sql = 'INSERT INTO queue (client_id, position, message_id, qos) VALUES (?, ?, ?, ?)';
      this.#journal.add(sql, clientId, position, message.id, level);
    }
    return message;
  }

  /** The broker core delivers the message from now on under this number. */
  number(message: StoredMessage, brokerId: string, counter: number): void {
    message.brokerId = brokerId;
    message.counter = counter;
    for (const { session, entry } of message.queued) {
      if (session.queue.get(entry.position) === entry) session.byCounter.set(counter, entry);
    }
    message.queued = [];
  }

  sent(session: Session, entry: QueueEntry, packetId: number): void {
    if (entry.packetId === packetId) return;
    if (entry.packetId !== undefined) session.byPacketId.delete(entry.packetId);
    entry.packetId = packetId;
    session.byPacketId.set(packetId, entry);
    const sql = 'UPDATE queue SET packet_id = ? WHERE client_id = ? AND position = ?';
    this.#journal.add(sql, packetId, session.id, entry.position);
  }

  released(session: Session, entry: QueueEntry): void {
    if (entry.released) return;
    entry.released = true;
    this.#journal.add('UPDATE queue SET released = 1 WHERE client_id = ? AND position = ?', session.id, entry.position);
  }

  entryByPacketId(session: Session, packetId: number): QueueEntry | undefined {
    const entry = session.byPacketId.get(packetId);
    if (entry) return entry;
    // Packet ids wrap, so two entries may have had the same one and the map knows only the later.
    for (const candidate of session.queue.values()) if (candidate.packetId === packetId) return candidate;
    return undefined;
  }

  /** Done with: acknowledged, or no longer allowed. */
  settle(session: Session, entry: QueueEntry): void {
    this.#unlink(session, entry);
    session.queue.delete(entry.position);
    this.#journal.add('DELETE FROM queue WHERE client_id = ? AND position = ?', session.id, entry.position);
  }

  #ensure(clientId: string): Session {
    let session = this.#sessions.get(clientId);
    if (!session) {
      session = new Session(clientId);
      this.#sessions.set(clientId, session);
    }
    return session;
  }

  #describe(session: Session, about: SessionAbout): void {
    session.about = about;
    this.#journal.add('INSERT OR REPLACE INTO session VALUES (?, ?)', session.id, JSON.stringify(about));
  }

  #index(session: Session, filter: string, record: SubscriptionRecord): void {
    session.subscriptions.set(filter, record);
    // QoS 0 subscriptions are restored with the session but never queued for.
    if (record.qos > 0) {
      const { qos, rh, rap, nl } = record;
      this.#tree.add(filter, session.id, { clientId: session.id, topic: filter, qos, rh, rap, nl });
    } else {
      this.#tree.remove(filter, session.id);
    }
  }

  #store(topic: string, payload: Uint8Array | string): StoredMessage {
    const id = this.#nextMessageId;
    this.#nextMessageId += 1;
    this.#journal.add('INSERT INTO message VALUES (?, ?, ?)', id, topic, Buffer.from(payload));
    return { id, topic, payload, brokerId: undefined, counter: 0, references: 0, queued: [] };
  }

  #link(session: Session, entry: QueueEntry): void {
    const { message } = entry;
    session.queue.set(entry.position, entry);
    if (entry.packetId !== undefined) session.byPacketId.set(entry.packetId, entry);
    session.queuedBytes += message.payload.length;
    message.references += 1;
    if (message.references > 1) return;
    this.#messages += 1;
    this.#bytes += message.payload.length;
  }

  #unlink(session: Session, entry: QueueEntry): void {
    const { message, packetId } = entry;
    session.byCounter.delete(message.counter);
    if (packetId !== undefined && session.byPacketId.get(packetId) === entry) session.byPacketId.delete(packetId);
    session.queuedBytes -= message.payload.length;
    message.references -= 1;
    if (message.references > 0) return;
    this.#messages -= 1;
    this.#bytes -= message.payload.length;
    this.#journal.add('DELETE FROM message WHERE id = ?', message.id);
  }
}

/** What an earlier connection sent is sent again as a duplicate [MQTT-3.3.1-1]. */
function markSent(session: Session): void {
  for (const entry of session.queue.values()) if (entry.packetId !== undefined) entry.dup = true;
}
