import type { BrokerLimits } from '../limits.ts';
import type { Journal } from './journal.ts';
import { type RetainedPacket, RetainedRows, sizeOf } from './retained-rows.ts';
import { RetainedSnapshot, type RetainedSource, type SystemMessage } from './retained-snapshot.ts';

/** Limits of `$SYS`, which a client with access may fill with states of bridges. */
const MAX_SYSTEM_TOPICS = 10_000;
const MAX_SYSTEM_BYTES = 16 * 1_048_576;

/** Messages of `all` that are read at once. */
const PAGE = { messages: 100, bytes: 262_144 };

/** Retained messages: on disk, and in memory those of `$SYS`. A message beyond a limit is not retained. */
export class RetainedStore implements RetainedSource {
  readonly #journal: Journal;
  readonly #limits: BrokerLimits;
  readonly rows: RetainedRows;
  readonly system = new Map<string, SystemMessage>();
  #systemBytes = 0;
  /** Bytes of the messages that are not on disk yet; 0: deleted. */
  readonly #unwritten = new Map<string, number>();
  #flushes: number;
  #sequence: number;
  #count: number;
  #bytes: number;
  /** Number of messages that were not retained because of a limit. */
  refused = 0;

  constructor(journal: Journal, limits: BrokerLimits) {
    this.#journal = journal;
    this.#limits = limits;
    this.rows = new RetainedRows(journal);
    this.#flushes = journal.flushes;
    const { count, bytes, sequence } = this.rows.totals();
    this.#count = count;
    this.#bytes = bytes;
    this.#sequence = sequence;
  }

  get count(): number {
    return this.#count + this.system.size;
  }

  /** Whether `put` would store or delete the message. */
  hasRoom(packet: RetainedPacket, size = sizeOf(packet)): boolean {
    const { topic, payload } = packet;
    if (payload.length === 0) return true;
    if (isSystem(topic)) {
      const replaced = this.system.get(topic);
      const isBelow = replaced !== undefined || this.system.size < MAX_SYSTEM_TOPICS;
      return isBelow && this.#systemBytes + size - (replaced ? sizeOf(replaced.packet) : 0) <= MAX_SYSTEM_BYTES;
    }
    const { retainedMessages, retainedBytes } = this.#limits;
    if (this.#count < retainedMessages && this.#bytes + size <= retainedBytes) return true;
    const replaced = this.#sizeOf(topic);
    return (replaced > 0 || this.#count < retainedMessages) && this.#bytes + size - replaced <= retainedBytes;
  }

  /** Stores a message, or deletes it if the payload is empty. Returns whether there is something to commit. */
  put(packet: RetainedPacket): boolean {
    const { topic, payload } = packet;
    if (payload.length === 0) return this.#remove(topic);
    const size = sizeOf(packet);
    if (!this.hasRoom(packet, size)) {
      this.refused += 1;
      return false;
    }
    this.#sequence += 1;
    if (isSystem(topic)) {
      this.#remove(topic);
      this.system.set(topic, { packet, sequence: this.#sequence });
      this.#systemBytes += size;
      return false;
    }
    this.#resize(topic, size);
    this.rows.put(packet, size, this.#sequence);
    return true;
  }

  /** Replaces a message that could not be stored by the one on disk. */
  restore(topic: string): void {
    const stored = this.rows.get(topic);
    if (stored) this.put(stored);
    else this.#remove(topic);
  }

  /** That of the last message. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The messages up to a sequence number, by default those of now, that match the filters. */
  snapshot(filters: readonly string[], sequence = this.#sequence): RetainedSnapshot {
    return new RetainedSnapshot(this, filters, sequence);
  }

  flush(): void {
    if (this.#current().size > 0) this.#journal.flush();
  }

  /** Deletes a message that has expired, unless it was replaced since it was read. */
  expire(topic: string): void {
    if (!this.#current().has(topic)) this.#remove(topic);
  }

  /** All messages that have not expired, as of the first. The caller may pause between two. */
  *all(): Generator<RetainedPacket> {
    const snapshot = new RetainedSnapshot(this, null, this.#sequence);
    for (;;) {
      const { matches, isDone } = snapshot.read(PAGE);
      for (const { packet } of matches) yield packet;
      if (isDone) return;
    }
  }

  #remove(topic: string): boolean {
    if (isSystem(topic)) {
      const removed = this.system.get(topic);
      if (removed) this.#systemBytes -= sizeOf(removed.packet);
      this.system.delete(topic);
      return false;
    }
    if (!this.#resize(topic, 0)) return false;
    this.rows.remove(topic);
    return true;
  }

  /** Returns whether there was a message, or is now. */
  #resize(topic: string, size: number): boolean {
    const replaced = this.#sizeOf(topic);
    if (replaced === 0 && size === 0) return false;
    this.#count += (size > 0 ? 1 : 0) - (replaced > 0 ? 1 : 0);
    this.#bytes += size - replaced;
    this.#current().set(topic, size);
    return true;
  }

  #sizeOf(topic: string): number {
    return this.#current().get(topic) ?? this.rows.sizeOf(topic);
  }

  #current(): Map<string, number> {
    const { flushes } = this.#journal;
    if (this.#flushes !== flushes) this.#unwritten.clear();
    this.#flushes = flushes;
    return this.#unwritten;
  }
}

export const isSystem = (topic: string): boolean => topic.startsWith('$SYS/');
