import { messageOf } from '../../../platform/errors.ts';
import { Backoff } from '../../../platform/scheduling/backoff.ts';
import { settledWithin } from '../../../platform/scheduling/within.ts';
import { after, attempt, type ValueOrPromise } from '../../../platform/value-or-promise.ts';
import { BaseLog, type BaseLogOptions } from '../../log/base-log.ts';
import type { WaitingMessage } from '../../log/log-disk.ts';
import type { IdRange } from '../../log/log-message.ts';
import type { BatchContent } from '../../log/log-writer.ts';
import { Entry, messageBytes } from './queue-entry.ts';
import { fromRecord, toRecord } from './queue-record.ts';
import type { BrokerStorage } from './queue-storage.ts';

interface QueueLogOptions extends BaseLogOptions {
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  /** Reported when the queue is opened. */
  readonly problem: string | null;
}

interface QueueLogListener {
  /** Called once for each problem; `null` when it has passed. */
  readonly onProblem: (reason: string | null) => void;
  /** Messages are stored. */
  readonly onStored: (entries: readonly Entry[]) => void;
  /** Messages are refused for their content. */
  readonly onRefused: (entries: readonly Entry[]) => void;
  /** What was stored is lost. Returns the number of messages that are not in memory, either. */
  readonly onLost: () => number;
  /** A page may be read again. */
  readonly onReadable: () => void;
}

export const AHEAD_MESSAGES = 1_000;
const AHEAD_BYTES = 4 * 1_048_576;
/** Maximum number and age (ms) of settled messages that are still stored. They are delivered again after a kill. */
const LEFT_MESSAGES = 1_000;
const LEFT_MS = 200;
/** Size of deleted messages after which free space is given back. */
const SHRINK_BYTES = 4 * 1_048_576;
const MIN_PRUNED = 10_000;
/** How long a queue that is closed waits for its disk. */
const CLOSE_MS = 2_000;
const READ_BACKOFF = { firstMs: 100, longestMs: 5_000 };
const STORAGE_FULL =
  'The queues of bridges take as much disk space as BRIDGE_STORAGE_MAX_MB allows: messages are dropped';
const done = () => undefined;
const TAKEN = 'Another process has taken over the queue, or its broker was deleted';

/**
 * The log of a queue, with its use of the storage and its problems. One reader settles its messages, which are deleted
 * with the next write. While the disk fails, messages remain in memory without acknowledgement.
 */
export class QueueLog extends BaseLog {
  readonly ttl = 0;
  readonly #storage: BrokerStorage | undefined;
  readonly #openProblem: string | null;
  #listener: QueueLogListener | null = null;
  #counted = 0;
  #isStorageFull = false;
  #problem: string | null = null;
  #waiting: Entry[] = [];
  /** So many may wait, until those that are settled meanwhile are removed. */
  #pruneAt = MIN_PRUNED;
  /** Taken by the writer, in the same order. */
  #sent: Entry[] = [];
  /** Messages before this id are deleted. */
  #from: number;
  #upTo = 0;
  #alone: number[] = [];
  #settled: Entry[] = [];
  /** Their deletion has started. */
  #deleting: Entry[] = [];
  #deletedBytes = 0;
  #isSettleDue = false;
  #settleTimer: NodeJS.Timeout | undefined;
  readonly #readBackoff = new Backoff(READ_BACKOFF);
  #readTimer: NodeJS.Timeout | undefined;
  #whenWritten: (() => void)[] = [];
  #isStopped = false;

  constructor(options: QueueLogOptions) {
    super(options);
    this.#storage = options.storage;
    this.#openProblem = options.problem;
    this.#from = this.parts.ends?.from ?? 0;
  }

  get messages(): number {
    return this.parts.messages;
  }

  get bytes(): number {
    return this.parts.bytes;
  }

  attach(listener: QueueLogListener): void {
    this.#listener = listener;
    if (this.#openProblem !== null) this.#report(this.#openProblem);
  }

  /** An id for the next message, whether it is stored or not. */
  nextId(): number {
    this.parts.lastId = Math.max(Math.floor(this.disk.now() * 1_000), this.parts.lastId + 1);
    return this.parts.lastId;
  }

  /** To be stored, in the order of their ids. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.place = 'WRITING';
      this.#waiting.push(entry);
    }
    if (this.#waiting.length > this.#pruneAt) this.#prune();
    if (this.writer.problem !== null) this.waits(this.writer.problem);
    this.writer.add(this);
  }

  /** The next messages, but `null` if they cannot be read now. */
  next(afterId: number): ValueOrPromise<readonly Entry[] | null> {
    const range = { from: afterId + 1, to: Number.MAX_SAFE_INTEGER };
    const options = { reverse: false, limit: AHEAD_MESSAGES, maxBytes: AHEAD_BYTES };
    return attempt<readonly Entry[] | null>(
      () =>
        after(this.page(range, options), (page) => {
          this.#readBackoff.reset();
          this.#passed();
          return page.map(({ id, payload }) => {
            const message = fromRecord(payload);
            return new Entry({ id, bytes: messageBytes(message), message }, 'DISK', null);
          });
        }),
      (error) => {
        this.waits(`Messages wait to be read: ${messageOf(error)}`);
        this.#readTimer ??= setTimeout(() => {
          this.#readTimer = undefined;
          this.#listener?.onReadable();
        }, this.#readBackoff.next());
        return null;
      },
    );
  }

  /** All messages up to this one are settled. */
  settledUpTo(entry: Entry): void {
    this.#upTo = entry.id;
    this.#settled.push(entry);
    if (this.#isStopped) return;
    if (this.#settled.length >= LEFT_MESSAGES) this.#settleSoon();
    else this.#settleTimer ??= setTimeout(() => this.#settleSoon(), LEFT_MS);
  }

  /** This message is settled, others before it are not. */
  settledAlone(entry: Entry): void {
    this.#alone.push(entry.id);
    this.#settled.push(entry);
  }

  /** Whether the storage has room for the messages of the queue, if they have this size. Reports the limit. */
  hasRoom(queueBytes: number): boolean {
    const hasRoom = this.#storage?.hasRoom(queueBytes - this.#counted) ?? true;
    if (hasRoom === this.#isStorageFull) {
      this.#isStorageFull = !hasRoom;
      this.#report(hasRoom ? this.#problem : STORAGE_FULL);
    }
    return hasRoom;
  }

  /** Counts the size of the messages of the queue, in memory and on disk. */
  use(queueBytes: number): void {
    if (this.#isStopped) return;
    this.#storage?.add(queueBytes - this.#counted);
    this.#counted = queueBytes;
  }

  /** Stops the timers and no longer counts in the storage. Messages can still be written. */
  stop(): void {
    this.use(0);
    this.#isStopped = true;
    clearTimeout(this.#settleTimer);
    clearTimeout(this.#readTimer);
  }

  /** Resolves when all is written, or the disk has not responded for some time. */
  async flush(): Promise<void> {
    this.#isSettleDue = this.#settled.length > 0;
    if (this.#isIdle) return;
    this.writer.add(this);
    await settledWithin(CLOSE_MS, [new Promise<void>((resolve) => this.#whenWritten.push(resolve))]);
  }

  /** After `stop`. `remove`: deletes what is stored. */
  async end({ remove }: { readonly remove: boolean }): Promise<void> {
    this.#waiting = [];
    const removed = remove && !this.owner.isTaken ? this.remove() : Promise.resolve();
    await settledWithin(CLOSE_MS, [removed.catch((error: unknown) => this.#report(messageOf(error)))]);
    this.close();
  }

  /** The file is damaged and was set aside. */
  damaged(reason: string): void {
    this.lose();
    this.#settled = [];
    this.#alone = [];
    this.#deleting = [];
    const lost = this.#listener?.onLost() ?? 0;
    this.#report(`${reason}; ${lost} messages of the queue are lost`);
  }

  get hasWaiting(): boolean {
    return (this.#waiting.length > 0 || this.#isSettleDue) && !this.owner.isTaken;
  }

  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[] {
    if (this.owner.isTaken) {
      this.taken();
      this.waits(TAKEN);
      this.#resolveWritten();
      return [];
    }
    this.#prune();
    let [count, sum] = [0, 0];
    for (const entry of this.#waiting) {
      sum += entry.bytes;
      if (count > 0 && (count >= messages || sum > bytes)) break;
      count += 1;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#sent.push(...taken);
    if (this.#isIdle) this.#resolveWritten();
    return taken.map((entry) => this.#waitingMessage(entry));
  }

  override takeSettled(): readonly IdRange[] {
    if (this.#settled.length === 0 || this.owner.isTaken) return [];
    const ranges = this.#alone.map((id) => ({ from: id, to: id }));
    if (this.#upTo >= this.#from) ranges.push({ from: this.#from, to: this.#upTo });
    this.#from = Math.max(this.#from, this.#upTo + 1);
    this.#deleting.push(...this.#settled);
    this.#settled = [];
    this.#alone = [];
    this.#isSettleDue = false;
    return ranges;
  }

  override waits(reason: string): void {
    if (reason === this.#problem) return;
    this.#problem = reason;
    this.#report(reason);
  }

  /** Without messages that are settled: if the last attempt has stored some, they are deleted with the others. */
  override again({ messages, settled }: BatchContent): BatchContent {
    const sent = this.#sent.splice(0, messages.length);
    const left = messages.filter((_, index) => sent[index]?.isSettled === false);
    for (const { part } of messages.filter((_, index) => sent[index]?.isSettled !== false)) part.waiting -= 1;
    this.#sent.unshift(...sent.filter(({ isSettled }) => !isSettled));
    return { messages: left, settled: [...settled, ...this.takeSettled()] };
  }

  override written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    super.written(messages, problem);
    const entries = this.#sent.splice(0, messages.length);
    if (problem === null) {
      this.#passed();
      this.#deleted();
      this.#listener?.onStored(entries);
    } else this.#listener?.onRefused(entries);
    if (this.#isIdle) this.#resolveWritten();
  }

  get #isIdle(): boolean {
    return this.#sent.length === 0 && this.#deleting.length === 0 && !this.hasWaiting;
  }

  #prune(): void {
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    this.#pruneAt = Math.max(MIN_PRUNED, 2 * this.#waiting.length);
  }

  #waitingMessage(entry: Entry): WaitingMessage {
    const { id, bytes, message } = entry;
    entry.place = 'SENT';
    const part = this.parts.add(id, 0);
    return { id, topic: '', payload: toRecord(message), qos: message.qos, bytes, part, done };
  }

  #settleSoon(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = undefined;
    this.#isSettleDue = this.#settled.length > 0;
    if (this.#isSettleDue) this.writer.add(this);
  }

  #deleted(): void {
    if (this.#deleting.length === 0) return;
    for (const { id, bytes } of this.#deleting.filter(({ place }) => place === 'DISK')) {
      this.parts.reduce(id, bytes);
      this.#deletedBytes += bytes;
    }
    this.#deleting = [];
    if (!this.#isStopped && (this.#deletedBytes >= SHRINK_BYTES || this.parts.past.length > 0)) void this.#tidy();
  }

  /** What fails is repeated later. */
  async #tidy(): Promise<void> {
    try {
      for (const part of this.parts.past) {
        await this.alone(async () => {
          // Unless messages came meanwhile.
          if (part.messages > 0 || part.waiting > 0) return;
          await this.disk.erase(this, part, { from: part.first, to: part.last }, 1);
          this.parts.forgetEmpty(part);
        });
      }
      if (this.#deletedBytes < SHRINK_BYTES) return;
      this.#deletedBytes = 0;
      await this.shrink();
    } catch (error) {
      if (!this.isClosed && !this.owner.isTaken) this.#report(messageOf(error));
    }
  }

  #resolveWritten(): void {
    for (const resolve of this.#whenWritten.splice(0)) resolve();
  }

  #passed(): void {
    if (this.#problem === null || this.owner.isTaken) return;
    this.#problem = null;
    this.#report(this.#isStorageFull ? STORAGE_FULL : null);
  }

  #report(reason: string | null): void {
    this.#listener?.onProblem(reason);
  }
}
