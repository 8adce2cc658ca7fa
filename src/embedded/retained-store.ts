import { filterMatches, hasWildcard } from '../mqtt/filter-match.ts';
import type { Journal } from './journal.ts';

export interface RetainedPacket {
  readonly cmd: 'publish';
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: true;
}

/**
 * The last retained message of each topic: all in memory, and in the journal except `$SYS`, which the broker makes anew.
 * Bounds: `maxCount` messages and `maxBytes` of payload. What does not fit is not retained (it is still delivered) and counted.
 */
export class RetainedStore {
  readonly #journal: Journal;
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #packets = new Map<string, RetainedPacket>();
  #bytes = 0;
  #refused = 0;

  constructor(journal: Journal, { maxCount, maxBytes }: { readonly maxCount: number; readonly maxBytes: number }) {
    this.#journal = journal;
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
    const rows = journal.rows<{ topic: string; payload: Buffer; qos: 0 | 1 | 2 }>(
      'SELECT topic, payload, qos FROM retained',
    );
    for (const { topic, payload, qos } of rows) this.#set({ cmd: 'publish', topic, payload, qos, retain: true });
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
      if (!this.#delete(topic)) return false;
      if (journaled) this.#journal.add('DELETE FROM retained WHERE topic = ?', topic);
      return journaled;
    }
    const before = this.#packets.get(topic);
    const growth = payload.length - (before?.payload.length ?? 0);
    if ((!before && this.#packets.size >= this.#maxCount) || this.#bytes + growth > this.#maxBytes) {
      this.#refused += 1;
      return false;
    }
    this.#delete(topic);
    this.#set(packet);
    if (!journaled) return false;
    const sql = 'INSERT OR REPLACE INTO retained (topic, payload, qos) VALUES (?, ?, ?)';
    this.#journal.add(sql, topic, Buffer.from(payload), packet.qos);
    return true;
  }

  *matching(filters: readonly string[]): Generator<RetainedPacket> {
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
    this.#bytes += packet.payload.length;
  }

  #delete(topic: string): boolean {
    const packet = this.#packets.get(topic);
    if (!packet) return false;
    this.#bytes -= packet.payload.length;
    return this.#packets.delete(topic);
  }
}
