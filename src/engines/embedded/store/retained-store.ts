import { filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';
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
  /** Sequence number of its delivery to subscribers; infinite until it is delivered. */
  delivered: number;
}

/** Characters of topics that are compared with a filter between two pauses, and what a topic costs besides: about 0.1 ms. */
const PAUSE_AFTER = 32_768;
const TOPIC_COST = 32;

/**
 * The last retained message of each topic: all in memory, and in the journal except `$SYS`, which the broker makes anew.
 * Bounds: `maxCount` messages and `maxBytes` of payload and properties. What does not fit is not retained (it is still delivered) and counted.
 */
export class RetainedStore {
  readonly #journal: Journal;
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Entry>();
  /** By topic: messages that were taken in and are not handed to subscribers yet. */
  readonly #arriving = new Map<string, number>();
  /** Of the last delivery. */
  #sequence = 0;
  #bytes = 0;
  #refused = 0;

  constructor(journal: Journal, { maxCount, maxBytes }: { readonly maxCount: number; readonly maxBytes: number }) {
    this.#journal = journal;
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
    type RetainedRow = { topic: string; payload: Buffer; qos: 0 | 1 | 2; properties: string | null };
    for (const row of journal.rows<RetainedRow>('SELECT topic, payload, qos, properties FROM retained')) {
      const { topic, payload, qos } = row;
      this.#set({ cmd: 'publish', topic, payload, qos, retain: true, ...withProperties(fromText(row.properties)) });
    }
  }

  get count(): number {
    return this.#entries.size;
  }

  get refused(): number {
    return this.#refused;
  }

  /** An empty payload removes. Says whether the journal has something to commit. */
  put(packet: RetainedPacket): boolean {
    const { topic, payload } = packet;
    const journaled = !topic.startsWith('$SYS/');
    if (payload.length === 0) {
      return this.#remove(topic) && journaled;
    }
    const before = this.#entries.get(topic)?.packet;
    const growth = sizeOf(packet) - (before ? sizeOf(before) : 0);
    if ((!before && this.#entries.size >= this.#maxCount) || this.#bytes + growth > this.#maxBytes) {
      this.#refused += 1;
      return false;
    }
    this.#delete(topic);
    this.#set(packet);
    if (!journaled) return false;
    const sql = 'INSERT OR REPLACE INTO retained (topic, payload, qos, properties) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, topic, Buffer.from(payload), packet.qos, toText(packet.properties));
    return true;
  }

  /** It was taken in, and will be handed to those who are subscribed by then; `delivered` is to follow. */
  accepted(topic: string): void {
    this.#arriving.set(topic, (this.#arriving.get(topic) ?? 0) + 1);
    const entry = this.#entries.get(topic);
    if (entry) entry.delivered = Number.POSITIVE_INFINITY;
  }

  /** It was handed on, or cannot be. */
  delivered(topic: string): void {
    // A subscription that had it just now is about to ask for what is retained: aedes does that in an earlier turn than this one.
    setImmediate(() => {
      const left = (this.#arriving.get(topic) ?? 1) - 1;
      if (left > 0) {
        this.#arriving.set(topic, left);
        return;
      }
      this.#arriving.delete(topic);
      const entry = this.#entries.get(topic);
      if (entry) entry.delivered = this.#nextSequence();
    });
  }

  /**
   * As `matching`, for a subscription that live messages reach from this call on: without those that it gets as such, however long the
   * caller takes. Null: many topics were compared that do not match, and the caller may pause.
   */
  forSubscriber(filters: readonly string[]): Generator<RetainedPacket | null> {
    return this.#matching(filters, { delivered: this.#sequence });
  }

  /** As they may be sent now; those that expired are removed. */
  *matching(filters: readonly string[], now = Date.now()): Generator<RetainedPacket> {
    for (const packet of this.#matching(filters, { now })) if (packet !== null) yield packet;
  }

  /** Those that did not expire. They may change meanwhile: what is put again may come once more. */
  *all(): Generator<RetainedPacket> {
    for (const { packet } of this.#entries.values()) if (!isExpired(packet.properties, Date.now())) yield packet;
  }

  /** `delivered`: the sequence number of the last delivery that is included. Default: all messages are included. */
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
      // What is put meanwhile comes last, and could go on without end.
      let left = this.#entries.size;
      for (const entry of this.#entries.values()) {
        if (left === 0) break;
        left -= 1;
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

/** Payload and properties. */
const sizeOf = ({ payload, properties }: RetainedPacket): number =>
  payload.length + (properties ? (toText(properties)?.length ?? 0) : 0);
