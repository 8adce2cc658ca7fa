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

/**
 * The last retained message of each topic: all in memory, and in the journal except `$SYS`, which the broker makes anew.
 * Bounds: `maxCount` messages and `maxBytes` of payload and properties. What does not fit is not retained (it is still delivered) and counted.
 */
export class RetainedStore {
  readonly #journal: Journal;
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #packets = new Map<string, RetainedPacket>();
  /** By topic: messages that were taken in and are not handed to subscribers yet. */
  readonly #arriving = new Map<string, number>();
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
    return this.#packets.size;
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
    const before = this.#packets.get(topic);
    const growth = sizeOf(packet) - (before ? sizeOf(before) : 0);
    if ((!before && this.#packets.size >= this.#maxCount) || this.#bytes + growth > this.#maxBytes) {
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
  }

  /** It was handed on, or cannot be. */
  handedOn(topic: string): void {
    // A subscription that had it just now is about to ask for what is retained: aedes does that in an earlier turn than this one.
    setImmediate(() => {
      const left = (this.#arriving.get(topic) ?? 1) - 1;
      if (left > 0) this.#arriving.set(topic, left);
      else this.#arriving.delete(topic);
    });
  }

  /** As `matching`, for a subscription that live messages reach from now on: without those that it is about to get as such. */
  *forSubscriber(filters: readonly string[]): Generator<RetainedPacket> {
    for (const packet of this.matching(filters)) if (!this.#arriving.has(packet.topic)) yield packet;
  }

  /** As they may be sent now; those that expired are removed. */
  *matching(filters: readonly string[], now = Date.now()): Generator<RetainedPacket> {
    for (const packet of this.#matching(filters)) {
      const { properties } = packet;
      if (!properties) yield packet;
      else if (isExpired(properties, now)) this.#remove(packet.topic);
      else yield { ...packet, properties: outgoing(properties, now) };
    }
  }

  /** Those that did not expire. They may change meanwhile: what is put again may come once more. */
  *all(): Generator<RetainedPacket> {
    for (const packet of this.#packets.values()) if (!isExpired(packet.properties, Date.now())) yield packet;
  }

  *#matching(filters: readonly string[]): Generator<RetainedPacket> {
    for (const filter of filters) {
      if (!hasWildcard(filter)) {
        const packet = this.#packets.get(filter);
        if (packet) yield packet;
        continue;
      }
      for (const packet of this.#packets.values()) if (filterMatches(filter, packet.topic)) yield packet;
    }
  }

  #set(packet: RetainedPacket): void {
    this.#packets.set(packet.topic, packet);
    this.#bytes += sizeOf(packet);
  }

  #delete(topic: string): boolean {
    const packet = this.#packets.get(topic);
    if (!packet) return false;
    this.#bytes -= sizeOf(packet);
    return this.#packets.delete(topic);
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
