import { type Committer, GroupCommit } from '../../../platform/scheduling/group-commit.ts';
import { batchLength } from '../../../platform/storage/message-files/batch.ts';
import { isDamage } from '../../../platform/storage/message-files/durable-file.ts';
import { after, attempt, type ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { AHEAD_MESSAGES, type QueueDisk, type QueueRow } from './queue-disk.ts';
import { Entry, messageBytes, type QueueEntry } from './queue-entry.ts';
import type { QueueBounds } from './queue-storage.ts';
import { QueueWindow } from './queue-window.ts';

export interface BridgeQueueOptions {
  /** The queue closes it. */
  readonly disk: QueueDisk;
  readonly bounds: QueueBounds;
  /**
   * Called once for each problem: an error of the disk or the database, a damaged file, or the storage limit; `null`
   * when it has passed.
   */
  readonly onProblem: (reason: string | null) => void;
  /** Shared by the queues of a thread, so that they commit together. Default: its own. */
  readonly groupCommit?: GroupCommit;
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
export class BridgeQueue implements Committer {
  length = 0;
  bytes = 0;
  dropped = 0;
  readonly #disk: QueueDisk;
  readonly #groupCommit: GroupCommit;
  readonly #listeners = new Set<() => void>();
  #bounds: QueueBounds;
  readonly #window = new QueueWindow();
  #unread = 0;
  #tail: Entry[] = [];
  #writing: Entry[] = [];
  #lastId = 0;
  #memoryMessages = 0;
  #memoryBytes = 0;
  /** The number of messages in memory only that are not being written. */
  #unwritten = 0;
  #isDelivering = true;
  #isClosed = false;
  #ageTimer: NodeJS.Timeout | null = null;
  /** Not used if the disk responds at once. */
  #pendingWrite: Promise<boolean> | null = null;
  #isWriteWanted = false;
  #isReading = false;

  /** Opens the queue with the messages of an earlier owner. Errors: those of an unreadable file. */
  constructor({ disk, bounds, onProblem, groupCommit }: BridgeQueueOptions) {
    this.#bounds = bounds;
    this.#groupCommit = groupCommit ?? new GroupCommit();
    this.#disk = disk;
    disk.attach({
      onProblem,
      onSettled: () => this.#commitSoon(),
      onRetry: () => {
        this.#commitSoon();
        if (this.#hasWaiting) this.#notifyReady();
      },
    });
    try {
      const content = disk.content();
      if (content === null) return;
      this.#unread = content.messages;
      this.length = content.messages;
      this.#lastId = content.lastId;
      this.#setBytes(content.bytes);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#recovered(error);
    }
  }

  /** `taken` is called once, when the message was delivered, written to disk or dropped. */
  push(message: BridgeMessage, taken: () => void): void {
    if (this.#isClosed) return;
    const bytes = messageBytes(message);
    const { maxMessages, maxBytes } = this.#bounds;
    const hasRoom = this.#disk.hasRoom(this.bytes + bytes);
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
    this.#lastId += 1;
    const isSequel = this.#unread === 0 && this.#tail.length === 0;
    const isTooMuch = this.#memoryMessages > MEMORY_MESSAGES || this.#memoryBytes > MEMORY_BYTES;
    const staysInMemory = isSequel && !isTooMuch && this.#isDelivering;
    const entry = new Entry({ id: this.#lastId, bytes, message }, staysInMemory ? 'MEMORY' : 'WRITING', taken);
    if (isSequel && (staysInMemory || this.#window.untaken < AHEAD_MESSAGES)) this.#window.add(entry);
    else this.#tail.push(entry);
    if (staysInMemory) {
      this.#unwritten += 1;
      this.#ageTimer ??= setTimeout(this.#checkAge, MEMORY_MS);
    } else {
      this.#writing.push(entry);
      if (isTooMuch) this.#spill();
      this.#commitSoon();
    }
    if (wasEmpty) this.#notifyReady();
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
      if (first.isStored) this.#disk.settledUpTo(first);
    }
  }

  /** The connection was lost: messages that were taken and not settled are returned again, in order. */
  restore(): void {
    this.#window.restore();
    if (this.#hasWaiting) this.#notifyReady();
  }

  /** Whether messages are being delivered. While not, new messages are written to disk. */
  setDelivering(isDelivering: boolean): void {
    this.#isDelivering = isDelivering;
    if (!isDelivering) this.#spill();
  }

  /** `listener` is called when there are messages to take again. */
  onReady(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  setBounds(bounds: QueueBounds): void {
    this.#bounds = bounds;
  }

  /** Writes and acknowledges all messages in memory, unless the disk failed. `discard`: deletes those on disk. */
  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#disk.stop();
    if (this.#ageTimer) clearTimeout(this.#ageTimer);
    this.#groupCommit.remove(this);
    this.#listeners.clear();
    await this.#pendingWrite;
    if (!discard) {
      this.#spill();
      while (this.#writing.length > 0 && (await this.#write()));
      const settled = this.#window.remaining().filter(({ isSettled, isStored }) => isSettled && isStored);
      for (const entry of settled) this.#disk.settledAlone(entry);
      if (this.#disk.hasGone) await this.#write();
    }
    await this.#disk.close({ remove: discard || (this.length === 0 && this.#writing.length === 0) });
  }

  commit(): boolean {
    if (this.#isClosed) return false;
    if (this.#pendingWrite !== null) {
      this.#isWriteWanted = true;
      return false;
    }
    return this.#write() === true && this.#writing.length > 0;
  }

  #setBytes(bytes: number): void {
    this.bytes = bytes;
    this.#disk.use(bytes);
  }

  get #hasWaiting(): boolean {
    return this.#window.untaken > 0 || this.#unread > 0 || this.#tail.length > 0;
  }

  #spill(): void {
    for (const entry of this.#unwritten > 0 ? this.#window.inMemory() : []) {
      entry.place = 'WRITING';
      this.#writing.push(entry);
    }
    this.#unwritten = 0;
    if (this.#writing.length > 0) this.#commitSoon();
  }

  readonly #checkAge = (): void => {
    this.#ageTimer = null;
    const [oldest] = this.#window.inMemory();
    if (oldest === undefined) return;
    if (Date.now() - oldest.message.receivedAt >= MEMORY_MS) this.#spill();
    this.#ageTimer = setTimeout(this.#checkAge, MEMORY_MS);
  };

  #commitSoon(): void {
    if (!this.#isClosed && !this.#disk.isFailed) this.#groupCommit.add(this);
  }

  /** One transaction; false if the disk failed. */
  #write(): ValueOrPromise<boolean> {
    this.#writing = this.#writing.filter(({ isSettled }) => !isSettled);
    const batch = this.#writing.slice(0, batchLength(this.#writing));
    const isStored = attempt(
      () => after(this.#disk.write(batch, this.length === 0), () => true),
      (error) => this.#recovered(error),
    );
    const isDone = after(isStored, (stored) => stored && this.#written(batch));
    if (typeof isDone === 'boolean') return isDone;
    for (const entry of batch) entry.place = 'SENT';
    this.#pendingWrite = isDone.finally(() => {
      this.#pendingWrite = null;
      if (this.#isWriteWanted || this.#writing.length > 0) this.#commitSoon();
      this.#isWriteWanted = false;
    });
    return this.#pendingWrite;
  }

  #written(batch: readonly Entry[]): true {
    this.#writing = this.#writing.slice(batch.length);
    for (const entry of batch) entry.place = 'DISK';
    let written = 0;
    while (this.#tail[written]?.place === 'DISK') written += 1;
    if (written > 0) this.#tail = this.#tail.slice(written);
    this.#unread += written;
    for (const entry of batch) this.#takenOf(entry);
    return true;
  }

  /** False if there are no further messages in memory now, or the disk failed. */
  #readAhead(): boolean {
    if (this.#isReading) return false;
    if (this.#unread === 0) {
      const entries = this.#tail.splice(0, AHEAD_MESSAGES);
      for (const entry of entries) this.#window.add(entry);
      return entries.length > 0;
    }
    const hasRead = attempt(
      () => after(this.#disk.page(this.#window.lastId), (rows) => this.#read(rows)),
      (error) => this.#recovered(error) && this.#hasWaiting,
    );
    if (typeof hasRead === 'boolean') return hasRead;
    this.#isReading = true;
    void hasRead.then((hasMore) => {
      this.#isReading = false;
      if (hasMore) this.#notifyReady();
    });
    return false;
  }

  #read(rows: readonly QueueRow[]): boolean {
    // A write that ended meanwhile may have added messages that are still in the tail.
    const end = this.#tail[0]?.id ?? Number.POSITIVE_INFINITY;
    let count = 0;
    for (const row of rows) {
      if (row.id >= end) break;
      this.#window.add(new Entry(row, 'DISK', null));
      count += 1;
    }
    if (count === 0) this.length -= this.#unread;
    this.#unread = count === 0 ? 0 : this.#unread - count;
    return count > 0 || this.#tail.length > 0;
  }

  /** Sets a damaged file aside, and writes the messages in memory to another one. False if the disk failed. */
  #recovered(error: unknown): boolean {
    if (!this.#disk.setAside(error, this.#unread)) return false;
    this.#unread = 0;
    const inMemory = [...this.#window.remaining(), ...this.#tail];
    const left = inMemory.filter(({ isSettled }) => !isSettled);
    this.length = left.length;
    this.#setBytes(left.reduce((sum, { bytes }) => sum + bytes, 0));
    for (const entry of inMemory.filter(({ place }) => place === 'DISK')) {
      entry.place = 'WRITING';
      if (!entry.isSettled) this.#writing.push(entry);
    }
    this.#commitSoon();
    return true;
  }

  #takenOf(entry: Entry): void {
    const { taken } = entry;
    if (taken === null) return;
    entry.taken = null;
    this.#memoryMessages -= 1;
    this.#memoryBytes -= entry.bytes;
    taken();
  }

  #notifyReady(): void {
    for (const listener of this.#listeners) listener();
  }
}
