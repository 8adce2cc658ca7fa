import type { BrokerLimits } from '../limits.ts';
import type { Journal } from './journal.ts';
import { fromText, type MessageProperties, toText } from './message-properties.ts';
import { type QueueEntry, Session, type StoredMessage } from './session.ts';
import { lowerQos } from './subscription.ts';
import type { Recipient } from './subscription-index.ts';

interface NewMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties?: MessageProperties | undefined;
}

export interface Grant {
  readonly session: Session;
  readonly qos: 1 | 2;
  readonly retain: boolean;
  /** See `QueueEntry`. */
  readonly share: string | null;
  readonly identifiers: readonly number[] | null;
}

/** What a session queues of a message for a recipient. `null`: nothing, because it has no session or gets QoS 0. */
export function grantOf(recipient: Recipient, { qos, retain }: Pick<NewMessage, 'qos' | 'retain'>): Grant | null {
  const { holder, group, keepsRetain, identifiers } = recipient;
  const level = lowerQos(qos, recipient.qos);
  if (level === 0 || !(holder instanceof Session)) return null;
  return { session: holder, qos: level, retain: retain && keepsRetain, share: group?.filter ?? null, identifiers };
}

export interface Queued {
  readonly session: Session;
  readonly entry: QueueEntry;
}

/** Memory of one queue entry without the message, which several queues share. */
const ENTRY_BYTES = 256;

/**
 * The queues of all sessions, in memory and in the journal. A message is stored once, and deleted when no queue has it.
 * A full queue drops the newest message.
 */
export class MessageQueues {
  readonly #journal: Journal;
  readonly #limits: BrokerLimits;
  count = 0;
  bytes = 0;
  dropped = 0;
  #nextMessageId = 1;
  /** Ids of messages were positions until a session could have a message twice, by a shared subscription. */
  #nextPosition = 1;
  #entries = 0;

  constructor(journal: Journal, limits: BrokerLimits) {
    this.#journal = journal;
    this.#limits = limits;
  }

  load(sessionOf: (clientId: string) => Session): void {
    const messages = this.#loadMessages();
    type QueueRow = {
      client_id: string;
      position: number;
      message_id: number;
      qos: 1 | 2;
      packet_id: number | null;
      released: number;
      retain: number;
      share: string | null;
    };
    for (const row of this.#journal.rows<QueueRow>('SELECT * FROM queue ORDER BY client_id, position')) {
      const message = messages.get(row.message_id);
      if (!message) continue;
      const session = sessionOf(row.client_id);
      const { position, qos, share } = row;
      const packetId = row.packet_id ?? undefined;
      const flags = { retain: row.retain === 1, released: row.released === 1, dup: packetId !== undefined };
      this.#link(session, { position, message, qos, packetId, ...flags, isSent: false, share, identifiers: undefined });
      this.#nextPosition = Math.max(this.#nextPosition, position + 1);
    }
  }

  #loadMessages(): Map<number, StoredMessage> {
    this.#journal.add('DELETE FROM message WHERE id NOT IN (SELECT message_id FROM queue)');
    const messages = new Map<number, StoredMessage>();
    type MessageRow = {
      id: number;
      topic: string;
      payload: Buffer;
      properties: string | null;
      qos: 0 | 1 | 2;
      retain: number;
    };
    const queued = 'SELECT * FROM message WHERE id IN (SELECT message_id FROM queue) ORDER BY id';
    for (const row of this.#journal.rows<MessageRow>(queued)) {
      const size = row.topic.length + row.payload.length + (row.properties?.length ?? 0);
      const properties = fromText(row.properties);
      const retain = row.retain === 1;
      messages.set(row.id, { ...row, retain, properties, size, isDelivered: true, references: 0 });
    }
    // Messages that are about to be deleted still use their ids.
    const [last] = this.#journal.rows<{ id: number | null }>('SELECT max(id) AS id FROM message');
    this.#nextMessageId = (last?.id ?? 0) + 1;
    return messages;
  }

  hasRoom(session: Session, { topic, payload, properties }: Omit<NewMessage, 'qos' | 'retain'>): boolean {
    const size = sizeOf(topic, payload, toText(properties));
    return this.#hasRoom(session, size, ENTRY_BYTES + size);
  }

  /** Queues a message for each granted session; the returned list has those whose queue had room. */
  add(granted: readonly Grant[], added: NewMessage): Queued[] {
    const text = toText(added.properties);
    const size = sizeOf(added.topic, added.payload, text);
    const queued: Queued[] = [];
    let message: StoredMessage | null = null;
    for (const grant of granted) {
      const { session } = grant;
      if (!this.#hasRoom(session, size, message ? ENTRY_BYTES : ENTRY_BYTES + size)) {
        session.dropped += 1;
        this.dropped += 1;
        continue;
      }
      message ??= this.#store(added, text, size);
      queued.push({ session, entry: this.#append(grant, message) });
    }
    return queued;
  }

  /** Moves a message that was not acknowledged to another session, in which it was not sent yet. */
  move(from: Queued, to: Grant): QueueEntry {
    const entry = this.#append(to, from.entry.message);
    this.settle(from.session, from.entry);
    return entry;
  }

  #append({ session, qos, retain, share, identifiers }: Grant, message: StoredMessage): QueueEntry {
    const position = this.#nextPosition;
    this.#nextPosition += 1;
    const state = { packetId: undefined, released: false, dup: false, isSent: false };
    const entry: QueueEntry = { position, message, qos, retain, share, identifiers, ...state };
    this.#link(session, entry);
    const sql = 'INSERT INTO queue (client_id, position, message_id, qos, retain, share) VALUES (?, ?, ?, ?, ?, ?)';
    this.#journal.add(sql, session.id, position, message.id, qos, retain ? 1 : 0, share);
    return entry;
  }

  #hasRoom(session: Session, size: number, more: number): boolean {
    const limit = session.online ? this.#limits.onlineMessages : this.#limits.offlineMessages;
    const isFull = session.queue.size >= limit || session.queuedBytes + size > this.#limits.sessionBytes;
    return !isFull && this.bytes + this.#entries * ENTRY_BYTES + more <= this.#limits.totalBytes;
  }

  sent(session: Session, entry: QueueEntry, packetId: number): void {
    if (entry.packetId === packetId) return;
    if (entry.packetId === undefined) countSent(session, entry, 1);
    else if (session.byPacketId.get(entry.packetId) === entry) session.byPacketId.delete(entry.packetId);
    entry.packetId = packetId;
    session.byPacketId.set(packetId, entry);
    const sql = 'UPDATE queue SET packet_id = ? WHERE client_id = ? AND position = ?';
    this.#journal.addLatest(`sent ${session.id} ${entry.position}`, sql, packetId, session.id, entry.position);
  }

  released(session: Session, entry: QueueEntry): void {
    if (entry.released) return;
    entry.released = true;
    this.#journal.add('UPDATE queue SET released = 1 WHERE client_id = ? AND position = ?', session.id, entry.position);
  }

  /** Removes a message that was acknowledged, has expired, or may no longer be sent. */
  settle(session: Session, entry: QueueEntry): void {
    this.#unlink(session, entry);
    session.queue.delete(entry.position);
    this.#journal.add('DELETE FROM queue WHERE client_id = ? AND position = ?', session.id, entry.position);
  }

  end(session: Session): void {
    for (const entry of session.queue.values()) this.#unlink(session, entry);
    // Messages that are being given to other members of a shared subscription must not be found any more.
    session.queue.clear();
    this.#journal.add('DELETE FROM queue WHERE client_id = ?', session.id);
  }

  #store(added: NewMessage, text: string | null, size: number): StoredMessage {
    const { topic, payload, qos, retain } = added;
    const id = this.#nextMessageId;
    this.#nextMessageId += 1;
    const sql = 'INSERT INTO message (id, topic, payload, properties, qos, retain) VALUES (?, ?, ?, ?, ?, ?)';
    this.#journal.add(sql, id, topic, Buffer.from(payload), text, qos, retain ? 1 : 0);
    return { ...added, id, size, isDelivered: false, references: 0 };
  }

  #link(session: Session, entry: QueueEntry): void {
    const { message } = entry;
    session.queue.set(entry.position, entry);
    if (entry.packetId !== undefined) {
      session.byPacketId.set(entry.packetId, entry);
      countSent(session, entry, 1);
    }
    session.queuedBytes += message.size;
    session.payloadBytes += message.payload.length;
    this.#entries += 1;
    message.references += 1;
    if (message.references > 1) return;
    this.count += 1;
    this.bytes += message.size;
  }

  #unlink(session: Session, entry: QueueEntry): void {
    const { message, packetId } = entry;
    if (packetId !== undefined) {
      if (session.byPacketId.get(packetId) === entry) session.byPacketId.delete(packetId);
      countSent(session, entry, -1);
    }
    session.queuedBytes -= message.size;
    session.payloadBytes -= message.payload.length;
    this.#entries -= 1;
    message.references -= 1;
    if (message.references > 0) return;
    this.count -= 1;
    this.bytes -= message.size;
    this.#journal.add('DELETE FROM message WHERE id = ?', message.id);
  }
}

const sizeOf = (topic: string, payload: Uint8Array | string, properties: string | null): number =>
  topic.length + payload.length + (properties?.length ?? 0);

function countSent(session: Session, { message }: QueueEntry, sign: 1 | -1): void {
  session.sentMessages += sign;
  session.sentBytes += sign * message.payload.length;
}
