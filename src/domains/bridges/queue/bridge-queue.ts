import { existsSync } from 'node:fs';
import { type Committer, GroupCommit } from '../../../platform/scheduling/group-commit.ts';
import { batchLength, diskFailure, RETRY_MS } from '../../../platform/storage/message-files/batch.ts';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { QueueFile, type QueueRow, queuePath, removeQueueFile } from './queue-file.ts';
import type { BrokerStorage } from './queue-storage.ts';

export interface QueueBounds {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export const QUEUE_BOUNDS: QueueBounds = { maxMessages: 100_000, maxBytes: 268_435_456 };

/** A message that was taken from the queue, until it is settled. */
export interface QueueEntry {
  readonly message: BridgeMessage;
}

export interface BridgeQueueOptions {
  /** Created with the first message on disk. */
  readonly folder: string;
  /** The name of the queue in the folder, any text; determines the file. One owner at a time. */
  readonly name: string;
  readonly bounds: QueueBounds;
  /** Called once for each problem: a disk error, a damaged file, or the storage limit; `null` when it has passed. */
  readonly onProblem: (reason: string | null) => void;
  /** Shared by the queues of a thread, so that they commit together. Default: its own. */
  readonly groupCommit?: GroupCommit;
  /** Shared by the queues of one broker's bridges. Default: limited by the bounds of the queue. */
  readonly storage?: BrokerStorage | undefined;
}

/** Maximum number of messages in memory only; if there are more, all are written to disk. */
const MEMORY_MESSAGES = 2_000;
const MEMORY_BYTES = 16 * 1_048_576;
/** Milliseconds after which a message is written to disk: the broker may wait for its acknowledgement. */
const MEMORY_MS = 500;
/** Maximum number of messages that are read ahead from disk. */
const AHEAD_MESSAGES = 1_000;
const AHEAD_BYTES = 4 * 1_048_576;
/** Maximum number and age (ms) of delivered messages in the file. They are delivered again after a kill. */
const LEFT_MESSAGES = 1_000;
const LEFT_MS = 200;
/** An empty file beyond this size is deleted. */
const EMPTY_BYTES = 4 * 1_048_576;
const STORAGE_FULL =
  'The queues of bridges take as much disk space as BRIDGE_STORAGE_MAX_MB allows: messages are dropped';
/** Bytes that count for a message in addition to its topic and payload. */
const MESSAGE_BYTES = 64;

type Place = 'MEMORY' | 'WRITING' | 'DISK';

class Entry implements QueueEntry, QueueRow {
  readonly id: number;
  readonly bytes: number;
  message: BridgeMessage;
  place: Place;
  taken: (() => void) | null;
  isSettled = false;

  constructor(id: number, bytes: number, message: BridgeMessage, place: Place, taken: (() => void) | null) {
    this.id = id;
    this.bytes = bytes;
    this.message = message;
    this.place = place;
    this.taken = taken;
  }
}

/**
 * The messages of one direction of a connection that wait for delivery, in order.
 * While delivery keeps up, messages are in memory only, and acknowledged when they are settled. Otherwise (delivery
 * stopped, or more messages than a small window wait) they are written to disk and acknowledged then, so that the limit
 * of the broker's own queue does not apply (1,000 messages in Mosquitto, which then drops). Messages on disk survive
 * the process. If the queue is full, new messages are dropped, acknowledged and counted.
 *
 * In order of their ids: `#window`, in memory, of which some are taken; `#unread` messages on disk only; `#tail`, in
 * memory until written. Messages in memory may also be on disk.
 * The used storage is the size of the file, or of the messages to be written. Messages beyond the storage limit are
 * dropped and counted like those beyond the bounds of the queue.
 * After a disk error, messages remain in memory without acknowledgement, within the same bounds, and the write is
 * retried.
 */
export class BridgeQueue implements Committer {
  readonly #options: BridgeQueueOptions;
  readonly #path: string;
  readonly #groupCommit: GroupCommit;
  readonly #listeners = new Set<() => void>();
  #bounds: QueueBounds;
  #file: QueueFile | null = null;
  #window: Entry[] = [];
  /** The index of the first message that is not settled, and of the next one to take. */
  #first = 0;
  #next = 0;
  #unread = 0;
  #tail: Entry[] = [];
  #writing: Entry[] = [];
  /** The id of the last message read into the window, and of the last one received. */
  #readTo = 0;
  #lastId = 0;
  #length = 0;
  #bytes = 0;
  /** The size of the file, which does not shrink until it is empty. */
  #fileBytes = 0;
  /** The bytes counted in `storage`. */
  #stored = 0;
  #isStorageFull = false;
  #dropped = 0;
  #memoryMessages = 0;
  #memoryBytes = 0;
  /** The number of messages in memory only that are not being written. */
  #unwritten = 0;
  /** Settled messages that are still in the file. */
  #gone = nothingGone();
  #isDelivering = true;
  #isClosed = false;
  #problem: string | null = null;
  #ageTimer: NodeJS.Timeout | null = null;
  #goneTimer: NodeJS.Timeout | null = null;
  #retryTimer: NodeJS.Timeout | null = null;

  /** Opens the queue with the messages of an earlier process. Errors: those of an unreadable file. */
  constructor(options: BridgeQueueOptions) {
    this.#options = options;
    this.#path = queuePath(options.folder, options.name);
    this.#bounds = options.bounds;
    this.#groupCommit = options.groupCommit ?? new GroupCommit();
    if (!existsSync(this.#path)) return;
    const file = this.#openFile();
    try {
      const { messages, bytes } = file.tally();
      this.#unread = messages;
      this.#length = messages;
      this.#bytes = bytes;
      this.#fileBytes = file.size();
      this.#noteStorage();
      this.#lastId = file.lastId();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#recovered(error);
    }
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** `taken` is called once, when the message was delivered, written to disk or dropped. */
  push(message: BridgeMessage, taken: () => void): void {
    if (this.#isClosed) return;
    const bytes = MESSAGE_BYTES + message.topic.length + message.payload.length + propertyBytes(message);
    const { maxMessages, maxBytes } = this.#bounds;
    const hasStorage = this.#hasStorage(bytes);
    if (this.#length >= maxMessages || this.#bytes + bytes > maxBytes || !hasStorage) {
      this.#dropped += 1;
      if (!hasStorage) this.#storageIsFull(true);
      taken();
      return;
    }
    if (this.#isStorageFull) this.#storageIsFull(false);
    const wasEmpty = !this.#hasWaiting;
    this.#length += 1;
    this.#bytes += bytes;
    this.#noteStorage();
    this.#memoryMessages += 1;
    this.#memoryBytes += bytes;
    this.#lastId += 1;
    const isSequel = this.#unread === 0 && this.#tail.length === 0;
    const isTooMuch = this.#memoryMessages > MEMORY_MESSAGES || this.#memoryBytes > MEMORY_BYTES;
    const staysInMemory = isSequel && !isTooMuch && this.#isDelivering;
    const entry = new Entry(this.#lastId, bytes, message, staysInMemory ? 'MEMORY' : 'WRITING', taken);
    if (isSequel && (staysInMemory || this.#window.length - this.#next < AHEAD_MESSAGES)) this.#toWindow(entry);
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

  /** Takes the oldest messages, at most `maxMessages` and `maxBytes`, but at least one if there is any. */
  take(maxMessages: number, maxBytes: number): readonly QueueEntry[] {
    const given: Entry[] = [];
    let bytes = 0;
    while (given.length < maxMessages) {
      const entry = this.#window[this.#next];
      if (entry === undefined) {
        if (!this.#readAhead()) break;
        continue;
      }
      bytes += entry.bytes;
      if (given.length > 0 && bytes > maxBytes) break;
      this.#next += 1;
      if (entry.isSettled) bytes -= entry.bytes;
      else given.push(entry);
    }
    return given;
  }

  /** The message was delivered, or never will be. */
  settle(given: QueueEntry): void {
    const entry = given as Entry;
    if (entry.isSettled) return;
    entry.isSettled = true;
    this.#length -= 1;
    this.#bytes -= entry.bytes;
    this.#noteStorage();
    // The entry may remain behind others: its message is no longer needed.
    entry.message = SETTLED;
    if (entry.place === 'MEMORY') this.#unwritten -= 1;
    if (entry.place !== 'DISK') this.#takenOf(entry);
    for (let first = this.#window[this.#first]; first?.isSettled; first = this.#window[this.#first]) {
      this.#first += 1;
      if (first.place === 'DISK') this.#goneFromDisk(first);
    }
    if (this.#next < this.#first) this.#next = this.#first;
    if (this.#first === this.#window.length || this.#first > MEMORY_MESSAGES) {
      this.#window = this.#window.slice(this.#first);
      this.#next -= this.#first;
      this.#first = 0;
    }
  }

  /** The connection was lost: messages that were taken and not settled are returned again, in order. */
  restore(): void {
    this.#next = this.#first;
    if (this.#hasWaiting) this.#notifyReady();
  }

  /** Whether messages are being delivered. While not, new messages are written to disk. */
  setDelivering(isDelivering: boolean): void {
    this.#isDelivering = isDelivering;
    if (!isDelivering) this.#spill();
  }

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
    this.#options.storage?.add(-this.#stored);
    this.#stored = 0;
    for (const timer of [this.#ageTimer, this.#goneTimer, this.#retryTimer]) if (timer) clearTimeout(timer);
    this.#groupCommit.remove(this);
    this.#listeners.clear();
    if (!discard) {
      this.#spill();
      while (this.#writing.length > 0 && this.#write());
      this.#goneBehindOthers();
      if (this.#gone.messages > 0) this.#write();
    }
    const isEmpty = this.#length === 0 && this.#writing.length === 0;
    try {
      this.#file?.close();
      if (discard || isEmpty) removeQueueFile(this.#path);
    } catch (error) {
      this.#failed(error);
    }
    this.#file = null;
  }

  commit(): boolean {
    if (this.#isClosed || !this.#write()) return false;
    return this.#writing.length > 0;
  }

  #hasStorage(bytes: number): boolean {
    const { storage } = this.#options;
    return storage === undefined || storage.hasRoom(this.#bytes + bytes - this.#stored);
  }

  #noteStorage(): void {
    const { storage } = this.#options;
    if (storage === undefined || this.#isClosed) return;
    const bytes = Math.max(this.#bytes, this.#fileBytes);
    storage.add(bytes - this.#stored);
    this.#stored = bytes;
  }

  #storageIsFull(isFull: boolean): void {
    if (this.#isStorageFull === isFull) return;
    this.#isStorageFull = isFull;
    this.#options.onProblem(isFull ? STORAGE_FULL : this.#problem);
  }

  get #hasWaiting(): boolean {
    return this.#next < this.#window.length || this.#unread > 0 || this.#tail.length > 0;
  }

  #toWindow(entry: Entry): void {
    this.#window.push(entry);
    this.#readTo = entry.id;
  }

  #spill(): void {
    for (let index = this.#first; this.#unwritten > 0 && index < this.#window.length; index += 1) {
      const entry = this.#window[index];
      if (entry === undefined || entry.isSettled || entry.place !== 'MEMORY') continue;
      entry.place = 'WRITING';
      this.#unwritten -= 1;
      this.#writing.push(entry);
    }
    if (this.#writing.length > 0) this.#commitSoon();
  }

  readonly #checkAge = (): void => {
    this.#ageTimer = null;
    const oldest = this.#window.find(
      ({ isSettled, place }, index) => index >= this.#first && !isSettled && place === 'MEMORY',
    );
    if (oldest === undefined) return;
    if (Date.now() - oldest.message.receivedAt >= MEMORY_MS) this.#spill();
    this.#ageTimer = setTimeout(this.#checkAge, MEMORY_MS);
  };

  #commitSoon(): void {
    if (!this.#isClosed && this.#retryTimer === null) this.#groupCommit.add(this);
  }

  /** One transaction; false if the disk failed. */
  #write(): boolean {
    this.#writing = this.#writing.filter(({ isSettled }) => !isSettled);
    const batch = this.#writing.slice(0, batchLength(this.#writing));
    const gone = this.#gone;
    if (batch.length > 0 || gone.messages > 0) {
      try {
        this.#file ??= this.#openFile();
        this.#file.change(batch, gone);
      } catch (error) {
        // A full disk has no room for a delete; if no message remains, the file is deleted instead.
        if (this.#length > 0 || !this.#removeFile()) return this.#recovered(error);
      }
    }
    if (this.#problem !== null) this.#options.onProblem(this.#isStorageFull ? STORAGE_FULL : null);
    this.#problem = null;
    this.#fileBytes = this.#file?.size() ?? 0;
    this.#noteStorage();
    this.#writing = this.#writing.slice(batch.length);
    this.#gone = nothingGone();
    for (const entry of batch) entry.place = 'DISK';
    this.#forgetWritten();
    for (const entry of batch) this.#takenOf(entry);
    this.#removeWhenEmpty();
    return true;
  }

  #forgetWritten(): void {
    let written = 0;
    while (this.#tail[written]?.place === 'DISK') written += 1;
    if (written === 0) return;
    this.#tail = this.#tail.slice(written);
    this.#unread += written;
  }

  /** False if there are no further messages, or the disk failed. */
  #readAhead(): boolean {
    if (this.#unread === 0) {
      const entries = this.#tail.splice(0, AHEAD_MESSAGES);
      for (const entry of entries) this.#toWindow(entry);
      return entries.length > 0;
    }
    try {
      this.#file ??= this.#openFile();
      const rows = this.#file.page(this.#readTo, AHEAD_MESSAGES, AHEAD_BYTES);
      for (const { id, bytes, message } of rows) this.#toWindow(new Entry(id, bytes, message, 'DISK', null));
      if (rows.length === 0) this.#length -= this.#unread;
      this.#unread = rows.length === 0 ? 0 : this.#unread - rows.length;
      return rows.length > 0 || this.#tail.length > 0;
    } catch (error) {
      return this.#recovered(error) && this.#hasWaiting;
    }
  }

  /**
   * Renames a damaged file, with the messages that are on disk only, and writes those in memory to another one. False
   * if the disk failed.
   */
  #recovered(error: unknown): boolean {
    if (!isDamage(error) || this.#file === null) {
      this.#failed(error);
      return false;
    }
    try {
      this.#file.close();
      setAside(this.#path);
    } catch (failure) {
      this.#failed(failure);
      return false;
    }
    const { message } = error as Error;
    this.#options.onProblem(`${this.#path} is damaged and was set aside with ${this.#unread} messages: ${message}`);
    this.#file = null;
    this.#gone = nothingGone();
    this.#unread = 0;
    const inMemory = [...this.#window.slice(this.#first), ...this.#tail];
    const left = inMemory.filter(({ isSettled }) => !isSettled);
    this.#length = left.length;
    this.#bytes = left.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#fileBytes = 0;
    this.#noteStorage();
    for (const entry of inMemory.filter(({ place }) => place === 'DISK')) {
      entry.place = 'WRITING';
      if (!entry.isSettled) this.#writing.push(entry);
    }
    this.#commitSoon();
    return true;
  }

  #goneFromDisk(entry: Entry): void {
    this.#gone.messages += 1;
    this.#gone.bytes += entry.bytes;
    this.#gone.firstId = entry.id + 1;
    if (this.#isClosed) return;
    if (this.#gone.messages >= LEFT_MESSAGES) this.#commitSoon();
    else {
      this.#goneTimer ??= setTimeout(() => {
        this.#goneTimer = null;
        if (this.#gone.messages > 0) this.#commitSoon();
      }, LEFT_MS);
    }
  }

  #goneBehindOthers(): void {
    for (let index = this.#first; index < this.#window.length; index += 1) {
      const entry = this.#window[index];
      if (entry === undefined || !entry.isSettled || entry.place !== 'DISK') continue;
      this.#gone.messages += 1;
      this.#gone.bytes += entry.bytes;
      this.#gone.ids.push(entry.id);
    }
  }

  #takenOf(entry: Entry): void {
    const { taken } = entry;
    if (taken === null) return;
    entry.taken = null;
    this.#memoryMessages -= 1;
    this.#memoryBytes -= entry.bytes;
    taken();
  }

  #removeWhenEmpty(): void {
    if (this.#length > 0 || this.#file === null || this.#isClosed) return;
    if (this.#file.size() > EMPTY_BYTES) this.#removeFile();
  }

  /** False if the file cannot be deleted. */
  #removeFile(): boolean {
    const file = this.#file;
    this.#file = null;
    if (file === null) return false;
    try {
      file.close();
      removeQueueFile(this.#path);
      this.#fileBytes = 0;
      this.#noteStorage();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #openFile(): QueueFile {
    this.#file ??= QueueFile.open(this.#path, this.#options.onProblem);
    return this.#file;
  }

  #failed(error: unknown): void {
    const reason = diskFailure(error);
    if (this.#problem !== reason) this.#options.onProblem(reason);
    this.#problem = reason;
    if (this.#isClosed) return;
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = null;
      this.#commitSoon();
      if (this.#hasWaiting) this.#notifyReady();
    }, RETRY_MS);
  }

  #notifyReady(): void {
    for (const listener of this.#listeners) listener();
  }
}

const nothingGone = () => ({ messages: 0, bytes: 0, firstId: 0, ids: [] as number[] });

const SETTLED: BridgeMessage = {
  topic: '',
  payload: Buffer.alloc(0),
  qos: 0,
  retain: false,
  properties: null,
  receivedAt: 0,
};

function propertyBytes({ properties }: BridgeMessage): number {
  if (properties === null) return 0;
  const { contentType = '', responseTopic = '', correlationData, userProperties = [] } = properties;
  const known = contentType.length + responseTopic.length + (correlationData?.length ?? 0);
  return userProperties.reduce((sum, [name, value]) => sum + name.length + value.length, known);
}
