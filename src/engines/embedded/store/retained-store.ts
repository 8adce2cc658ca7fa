import { filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';
import type { BrokerLimits } from '../limits.ts';
import type { Journal } from './journal.ts';
import { fromText, isExpired, type MessageProperties, outgoing, toText } from './message-properties.ts';

export interface RetainedPacket {
  readonly cmd: 'publish';
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: true;
  readonly properties?: MessageProperties | undefined;
}

interface Entry {
  readonly packet: RetainedPacket;
  /** Sequence number of its delivery; infinite until the message is delivered. */
  delivered: number;
}

/** Characters of topics that are compared between two pauses, which takes about 0.1 ms. Each topic adds TOPIC_COST. */
const PAUSE_AFTER = 32_768;
const TOPIC_COST = 32;

/** Retained messages: in memory, and in the journal except `$SYS`. A message beyond a limit is not retained. */
export class RetainedStore {
  readonly #journal: Journal;
  readonly #limits: BrokerLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #arriving = new Map<string, number>();
  #sequence = 0;
  #bytes = 0;

  constructor(journal: Journal, limits: BrokerLimits) {
    this.#journal = journal;
    this.#limits = limits;
    type RetainedRow = { topic: string; payload: Buffer; qos: 0 | 1 | 2; properties: string | null };
    for (const row of journal.rows<RetainedRow>('SELECT topic, payload, qos, properties FROM retained')) {
      const { topic, payload, qos } = row;
      this.#set({ cmd: 'publish', topic, payload, qos, retain: true, ...withProperties(fromText(row.properties)) });
    }
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Stores a message, or deletes it if the payload is empty. Returns whether there is something to commit. */
  put(packet: RetainedPacket): boolean {
    const { topic, payload } = packet;
    const journaled = !topic.startsWith('$SYS/');
    if (payload.length === 0) return this.#remove(topic) && journaled;
    const replaced = this.#entries.get(topic)?.packet;
    const growth = sizeOf(packet) - (replaced ? sizeOf(replaced) : 0);
    const { retainedMessages, retainedBytes } = this.#limits;
    if (!replaced && this.#entries.size >= retainedMessages) return false;
    if (this.#bytes + growth > retainedBytes) return false;
    this.#delete(topic);
    this.#set(packet);
    if (!journaled) return false;
    const sql = 'INSERT OR REPLACE INTO retained (topic, payload, qos, properties) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, topic, Buffer.from(payload), packet.qos, toText(packet.properties));
    return true;
  }

  accepted(topic: string): void {
    this.#arriving.set(topic, (this.#arriving.get(topic) ?? 0) + 1);
    const entry = this.#entries.get(topic);
    if (entry) entry.delivered = Number.POSITIVE_INFINITY;
  }

  delivered(topic: string): void {
    // aedes requests retained messages for a new subscription, which got this message live, before `setImmediate` runs.
    setImmediate(() => {
      const remaining = (this.#arriving.get(topic) ?? 1) - 1;
      if (remaining > 0) {
        this.#arriving.set(topic, remaining);
        return;
      }
      this.#arriving.delete(topic);
      const entry = this.#entries.get(topic);
      if (entry) entry.delivered = this.#nextSequence();
    });
  }

  /** Like `matching`, without messages that the subscriber gets live from now on. `null`: the caller may pause. */
  forSubscriber(filters: readonly string[]): Generator<RetainedPacket | null> {
    return this.#matching(filters, { delivered: this.#sequence });
  }

  /** Matching messages with their remaining expiry interval. Expired messages are deleted. */
  *matching(filters: readonly string[], now = Date.now()): Generator<RetainedPacket> {
    for (const packet of this.#matching(filters, { now })) if (packet !== null) yield packet;
  }

  /** All messages that have not expired. A message that is replaced during the iteration may be returned twice. */
  *all(): Generator<RetainedPacket> {
    for (const { packet } of this.#entries.values()) if (!isExpired(packet.properties, Date.now())) yield packet;
  }

  /** `delivered`: the sequence number of the last delivery that is included. Default: all are. */
  *#matching(
    filters: readonly string[],
    { delivered, now }: { readonly delivered?: number; readonly now?: number },
  ): Generator<RetainedPacket | null> {
    const isIncluded = (entry: Entry) => delivered === undefined || entry.delivered <= delivered;
    let compared = 0;
    for (const filter of filters) {
      if (!hasWildcard(filter)) {
        const entry = this.#entries.get(filter);
        if (entry && isIncluded(entry)) yield* this.#sendable(entry.packet, now);
        continue;
      }
      // Messages that are stored meanwhile come last, and could prevent the end of the iteration.
      let remaining = this.#entries.size;
      for (const entry of this.#entries.values()) {
        if (remaining === 0) break;
        remaining -= 1;
        const { packet } = entry;
        if (isIncluded(entry) && filterMatches(filter, packet.topic)) yield* this.#sendable(packet, now);
        compared += packet.topic.length + TOPIC_COST;
        if (compared < PAUSE_AFTER) continue;
        compared = 0;
        yield null;
      }
    }
  }

  *#sendable(packet: RetainedPacket, now = Date.now()): Generator<RetainedPacket> {
    const { properties } = packet;
    if (!properties) yield packet;
    else if (isExpired(properties, now)) this.#remove(packet.topic);
    else yield { ...packet, properties: outgoing(properties, now) };
  }

  #set(packet: RetainedPacket): void {
    this.#entries.set(packet.topic, { packet, delivered: this.#nextSequence() });
    this.#bytes += sizeOf(packet);
  }

  #delete(topic: string): boolean {
    const entry = this.#entries.get(topic);
    if (!entry) return false;
    this.#bytes -= sizeOf(entry.packet);
    return this.#entries.delete(topic);
  }

  #nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #remove(topic: string): boolean {
    if (!this.#delete(topic)) return false;
    if (!topic.startsWith('$SYS/')) this.#journal.add('DELETE FROM retained WHERE topic = ?', topic);
    return true;
  }
}

const withProperties = (properties: MessageProperties | undefined) => (properties ? { properties } : {});

const sizeOf = ({ payload, properties }: RetainedPacket): number =>
  payload.length + (properties ? (toText(properties)?.length ?? 0) : 0);
