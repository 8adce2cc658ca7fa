import { filterMatches, hasWildcard } from '../../mqtt/filter-match.ts';
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

interface Kept {
  readonly packet: RetainedPacket;
  /** Its place in the order in which messages were handed to subscribers; infinite: it was not yet. */
  handedOn: number;
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
  readonly #kept = new Map<string, Kept>();
  /** By topic: messages that were taken in and are not handed to subscribers yet. */
  readonly #arriving = new Map<string, number>();
  #handedOn = 0;
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
    return this.#kept.size;
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
    const before = this.#kept.get(topic)?.packet;
    const growth = sizeOf(packet) - (before ? sizeOf(before) : 0);
    if ((!before && this.#kept.size >= this.#maxCount) || this.#bytes + growth > this.#maxBytes) {
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

  /** It was taken in, and will be handed to those who are subscribed by then; `handedOn` is to follow. */
  takenIn(topic: string): void {
    this.#arriving.set(topic, (this.#arriving.get(topic) ?? 0) + 1);
    const kept = this.#kept.get(topic);
    if (kept) kept.handedOn = Number.POSITIVE_INFINITY;
  }

  /** It was handed on, or cannot be. */
  handedOn(topic: string): void {
    // A subscription that had it just now is about to ask for what is retained: aedes does that in an earlier turn than this one.
    setImmediate(() => {
      const left = (this.#arriving.get(topic) ?? 1) - 1;
      if (left > 0) {
        this.#arriving.set(topic, left);
        return;
      }
      this.#arriving.delete(topic);
      const kept = this.#kept.get(topic);
      if (kept) kept.handedOn = this.#nextPlace();
    });
  }

  /**
   * As `matching`, for a subscription that live messages reach from this call on: without those that it gets as such, however long the
   * caller takes. Null: many topics were compared that do not match, and the caller may pause.
   */
  forSubscriber(filters: readonly string[]): Generator<RetainedPacket | null> {
    return this.#matching(filters, { handedOn: this.#handedOn });
  }

  /** As they may be sent now; those that expired are removed. */
  *matching(filters: readonly string[], now = Date.now()): Generator<RetainedPacket> {
    for (const packet of this.#matching(filters, { now })) if (packet !== null) yield packet;
  }

  /** Those that did not expire. They may change meanwhile: what is put again may come once more. */
  *all(): Generator<RetainedPacket> {
    for (const { packet } of this.#kept.values()) if (!isExpired(packet.properties, Date.now())) yield packet;
  }

  /** Those whose place is not after `handedOn`; default: all. */
  *#matching(
    filters: readonly string[],
    { handedOn, now }: { readonly handedOn?: number; readonly now?: number },
  ): Generator<RetainedPacket | null> {
    const isWanted = (kept: Kept) => handedOn === undefined || kept.handedOn <= handedOn;
    let compared = 0;
    for (const filter of filters) {
      if (!hasWildcard(filter)) {
        const kept = this.#kept.get(filter);
        if (kept && isWanted(kept)) yield* this.#sendable(kept.packet, now);
        continue;
      }
      // What is put meanwhile comes last, and could go on without end.
      let left = this.#kept.size;
      for (const kept of this.#kept.values()) {
        if (left === 0) break;
        left -= 1;
        const { packet } = kept;
        if (isWanted(kept) && filterMatches(filter, packet.topic)) yield* this.#sendable(packet, now);
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
    this.#kept.set(packet.topic, { packet, handedOn: this.#nextPlace() });
    this.#bytes += sizeOf(packet);
  }

  #delete(topic: string): boolean {
    const kept = this.#kept.get(topic);
    if (!kept) return false;
    this.#bytes -= sizeOf(kept.packet);
    return this.#kept.delete(topic);
  }

  #nextPlace(): number {
    this.#handedOn += 1;
    return this.#handedOn;
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
