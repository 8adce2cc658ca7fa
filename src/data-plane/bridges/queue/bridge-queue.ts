import { Listeners } from '../../../platform/listeners.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { Entry, messageBytes, type QueueEntry } from './queue-entry.ts';
import type { QueueLog } from './queue-log.ts';
import { AHEAD_MESSAGES } from './queue-reader.ts';
import type { QueueBounds } from './queue-storage.ts';
import { QueueWindow } from './queue-window.ts';

export interface BridgeQueueOptions {
  /** The queue closes it. */
  readonly log: QueueLog;
  readonly bounds: QueueBounds;
  /**
   * Called once for each problem: an error of the disk or the database, a damaged file, or the storage limit; `null`
   * when it has passed.
   */
  readonly onProblem: (reason: string | null) => void;
}

/** Maximum number of messages in memory only; if there are more, all are written to disk. */
const MEMORY_MESSAGES = 2_000;
const MEMORY_BYTES = 16 * 1_048_576;
/** Milliseconds after which a message is written to disk: the broker may wait for its acknowledgement. */
const MEMORY_MS = 500;

/**
 * The messages of one direction of a connection that wait for delivery, in order.
 * While delivery keeps up, messages are in memory only, and acknowledged when they are settled. Otherwise (delivery
 * stopped, or more messages than a small window wait) they are written to disk and acknowledged then, so that the limit
 * of the broker's own queue does not apply (1,000 messages in Mosquitto, which then drops). Messages on disk survive
 * the process; the disk is a file or PostgreSQL. New messages beyond the bounds of the queue or the storage limit are
 * dropped, acknowledged and counted. After a disk error, messages remain in memory without acknowledgement, within the
 * same bounds, and the write is retried.
 *
 * In order of their ids: `#window`, in memory, of which some are taken; `#unread` messages on disk only; `#tail`, in
 * memory until written. Messages in memory may also be on disk.
 */
export class BridgeQueue {
  length = 0;
  bytes = 0;
  dropped = 0;
  readonly #log: QueueLog;
  readonly #listeners = new Listeners();
  #bounds: QueueBounds;
  readonly #window = new QueueWindow();
  #unread = 0;
  #tail: Entry[] = [];
  #memoryMessages = 0;
  #memoryBytes = 0;
  /** The number of messages in memory only that are not being written. */
  #unwritten = 0;
  #isDelivering = true;
  #isClosed = false;
  #ageTimer: NodeJS.Timeout | null = null;
  #isReading = false;

  /** Opens the queue with the messages of an earlier owner. */
  constructor({ log, bounds, onProblem }: BridgeQueueOptions) {
    this.#bounds = bounds;
    this.#log = log;
    const { messages, bytes } = log.size;
    this.#unread = messages;
    this.length = messages;
    this.#setBytes(bytes);
    log.attach({
      onProblem,
      onStored: (entries) => this.#stored(entries),
      onRefused: (entries) => {
        this.dropped += entries.length;
        for (const entry of entries) this.settle(entry);
      },
      onLost: () => this.#lost(),
      onReadable: () => {
        if (this.#hasWaiting) this.#listeners.notify();
      },
    });
  }

  /** `taken` is called once, when the message was delivered, written to disk or dropped. */
  push(message: BridgeMessage, taken: () => void): void {
    if (this.#isClosed) return;
    const bytes = messageBytes(message);
    const { maxMessages, maxBytes } = this.#bounds;
    const hasRoom = this.#log.state.hasRoom(this.bytes + bytes);
    if (!hasRoom || this.length >= maxMessages || this.bytes + bytes > maxBytes) {
      this.dropped += 1;
      taken();
      return;
    }
    const wasEmpty = !this.#hasWaiting;
    this.length += 1;
    this.#setBytes(this.bytes + bytes);
    this.#memoryMessages += 1;
    this.#memoryBytes += bytes;
    const isSequel = this.#unread === 0 && this.#tail.length === 0;
    const isTooMuch = this.#memoryMessages > MEMORY_MESSAGES || this.#memoryBytes > MEMORY_BYTES;
    const staysInMemory = isSequel && !isTooMuch && this.#isDelivering;
    // Messages are stored in their order.
    if (!staysInMemory) this.#spill();
    const entry = new Entry({ id: this.#log.nextId(), bytes, message }, 'MEMORY', taken);
    if (isSequel && (staysInMemory || this.#window.untaken < AHEAD_MESSAGES)) this.#window.add(entry);
    else this.#tail.push(entry);
    if (staysInMemory) {
      this.#unwritten += 1;
      this.#ageTimer ??= setTimeout(this.#checkAge, MEMORY_MS);
    } else this.#log.add([entry]);
    if (wasEmpty) this.#listeners.notify();
  }

  /**
   * Takes the oldest messages, at most `maxMessages` and `maxBytes`, but at least one if there is any. None while they
   * are read from the database; `onReady` listeners are then called.
   */
  take(maxMessages: number, maxBytes: number): readonly QueueEntry[] {
    const given: Entry[] = [];
    let bytes = 0;
    while (given.length < maxMessages) {
      const entry = this.#window.next;
      if (entry === undefined) {
        if (!this.#readAhead()) break;
        continue;
      }
      bytes += entry.bytes;
      if (given.length > 0 && bytes > maxBytes) break;
      this.#window.takeNext();
      if (entry.isSettled) bytes -= entry.bytes;
      else given.push(entry);
    }
    return given;
  }

  settle(given: QueueEntry): void {
    const entry = given as Entry;
    if (entry.isSettled) return;
    entry.settle();
    this.length -= 1;
    this.#setBytes(this.bytes - entry.bytes);
    if (entry.place === 'MEMORY') this.#unwritten -= 1;
    if (entry.place !== 'DISK') this.#takenOf(entry);
    for (let first = this.#window.removeSettled(); first !== undefined; first = this.#window.removeSettled()) {
      if (first.isStored) this.#log.settled.upTo(first);
    }
  }

  /** The connection was lost: messages that were taken and not settled are returned again, in order. */
  restore(): void {
    this.#window.restore();
    if (this.#hasWaiting) this.#listeners.notify();
  }

  /** Whether messages are being delivered. While not, new messages are written to disk. */
  setDelivering(isDelivering: boolean): void {
    this.#isDelivering = isDelivering;
    if (!isDelivering) this.#spill();
  }

  /** `listener` is called when there are messages to take again. */
  readonly onReady = this.#listeners.add;

  setBounds(bounds: QueueBounds): void {
    this.#bounds = bounds;
  }

  /** Writes and acknowledges all messages in memory, unless the disk failed. `discard`: deletes those on disk. */
  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#log.stop();
    if (this.#ageTimer) clearTimeout(this.#ageTimer);
    this.#listeners.clear();
    if (!discard) {
      this.#spill();
      const settled = this.#window.remaining().filter(({ isSettled, isStored }) => isSettled && isStored);
      for (const entry of settled) this.#log.settled.alone(entry);
      await this.#log.flush();
    }
    await this.#log.end({ remove: discard || this.length === 0 });
  }

  #setBytes(bytes: number): void {
    this.bytes = bytes;
    this.#log.state.use(bytes);
  }

  get #hasWaiting(): boolean {
    return this.#window.untaken > 0 || this.#unread > 0 || this.#tail.length > 0;
  }

  #spill(): void {
    if (this.#unwritten === 0) return;
    this.#unwritten = 0;
    this.#log.add([...this.#window.inMemory()]);
  }

  readonly #checkAge = (): void => {
    this.#ageTimer = null;
    const [oldest] = this.#window.inMemory();
    if (oldest === undefined) return;
    if (Date.now() - oldest.message.receivedAt >= MEMORY_MS) this.#spill();
    this.#ageTimer = setTimeout(this.#checkAge, MEMORY_MS);
  };

  #stored(entries: readonly Entry[]): void {
    for (const entry of entries) entry.place = 'DISK';
    let stored = 0;
    while (this.#tail[stored]?.place === 'DISK') stored += 1;
    if (stored > 0) this.#tail = this.#tail.slice(stored);
    this.#unread += stored;
    for (const entry of entries) this.#takenOf(entry);
  }

  /** False if there are no further messages in memory now, or the disk failed. */
  #readAhead(): boolean {
    if (this.#isReading) return false;
    if (this.#unread === 0) {
      const entries = this.#tail.splice(0, AHEAD_MESSAGES);
      for (const entry of entries) this.#window.add(entry);
      return entries.length > 0;
    }
    const entries = this.#log.reader.next(this.#window.lastId);
    if (!(entries instanceof Promise)) return this.#read(entries);
    this.#isReading = true;
    void entries.then((read) => {
      this.#isReading = false;
      if (this.#read(read)) this.#listeners.notify();
    });
    return false;
  }

  #read(entries: readonly Entry[] | null): boolean {
    if (entries === null) return false;
    // A write that ended meanwhile may have added messages that are still in the tail.
    const end = this.#tail[0]?.id ?? Number.POSITIVE_INFINITY;
    let count = 0;
    for (const entry of entries) {
      if (entry.id >= end) break;
      this.#window.add(entry);
      count += 1;
    }
    if (count === 0) this.length -= this.#unread;
    this.#unread = count === 0 ? 0 : Math.max(0, this.#unread - count);
    return count > 0 || this.#tail.length > 0;
  }

  /** Writes the messages in memory again, to another file. Returns the number of others. */
  #lost(): number {
    const lost = this.#unread;
    this.#unread = 0;
    const left = [...this.#window.remaining(), ...this.#tail].filter(({ isSettled }) => !isSettled);
    this.length = left.length;
    this.#setBytes(left.reduce((sum, { bytes }) => sum + bytes, 0));
    this.#log.add(left.filter(({ place }) => place === 'DISK'));
    return lost;
  }

  #takenOf(entry: Entry): void {
    const { taken } = entry;
    if (taken === null) return;
    entry.taken = null;
    this.#memoryMessages -= 1;
    this.#memoryBytes -= entry.bytes;
    taken();
  }
}
