import { messageOf } from '../../../platform/errors.ts';
import { settledWithin } from '../../../platform/scheduling/within.ts';
import { BaseLog, type BaseLogOptions } from '../../log/base-log.ts';
import type { WaitingMessage } from '../../log/log-disk.ts';
import type { IdRange } from '../../log/log-message.ts';
import type { BatchContent } from '../../log/log-writer.ts';
import type { Entry } from './queue-entry.ts';
import { QueueOutbox } from './queue-outbox.ts';
import { QueueReader } from './queue-reader.ts';
import { QueueState } from './queue-state.ts';
import type { BrokerStorage } from './queue-storage.ts';
import { SettledMessages } from './settled-messages.ts';

interface QueueLogOptions extends BaseLogOptions {
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  /** Reported when the queue is opened. */
  readonly problem: string | null;
}

interface QueueLogListener {
  /** Called once for each problem; `null` when it has passed. */
  readonly onProblem: (reason: string | null) => void;
  readonly onStored: (entries: readonly Entry[]) => void;
  /** Messages are refused for their content. */
  readonly onRefused: (entries: readonly Entry[]) => void;
  /** What was stored is lost. Returns the number of messages that are not in memory, either. */
  readonly onLost: () => number;
  /** A page may be read again. */
  readonly onReadable: () => void;
}

/** Size of deleted messages after which free space is given back. */
const SHRINK_BYTES = 4 * 1_048_576;
/** How long a queue that is closed waits for its disk. */
const CLOSE_MS = 2_000;
const TAKEN = 'Another process has taken over the queue, or its broker was deleted';

/**
 * The log of a queue, with its use of the storage and its problems. One reader settles its messages, which are deleted
 * with the next write. While the disk fails, messages remain in memory without acknowledgement.
 */
export class QueueLog extends BaseLog {
  readonly ttl = 0;
  #listener: QueueLogListener | null = null;
  readonly state: QueueState;
  readonly settled: SettledMessages;
  readonly reader: QueueReader;
  readonly #outbox = new QueueOutbox();
  #deletedBytes = 0;
  #whenWritten: (() => void)[] = [];

  constructor(options: QueueLogOptions) {
    super(options);
    this.state = new QueueState(options.storage, options.problem);
    this.settled = new SettledMessages(this.parts.ends?.from ?? 0, () => this.writer.add(this));
    this.reader = new QueueReader({
      page: (...range) => this.page(...range),
      onRead: () => this.#passed(),
      onFailure: (reason) => this.waits(reason),
      onReadable: () => this.#listener?.onReadable(),
    });
  }

  /** What is stored. */
  get size(): { readonly messages: number; readonly bytes: number } {
    return this.parts;
  }

  attach(listener: QueueLogListener): void {
    this.#listener = listener;
    this.state.attach(listener.onProblem);
  }

  /** An id for the next message, whether it is stored or not. */
  nextId(): number {
    this.parts.lastId = Math.max(Math.floor(this.disk.now() * 1_000), this.parts.lastId + 1);
    return this.parts.lastId;
  }

  /** To be stored, in the order of their ids. */
  add(entries: readonly Entry[]): void {
    this.#outbox.add(entries);
    if (this.writer.problem !== null) this.waits(this.writer.problem);
    this.writer.add(this);
  }

  /** Stops the timers and no longer counts in the storage. Messages can still be written. */
  stop(): void {
    this.state.stop();
    this.settled.stop();
    this.reader.stop();
  }

  /** Resolves when all is written, or the disk has not responded for some time. */
  async flush(): Promise<void> {
    this.settled.setDue();
    if (this.#isIdle) return;
    this.writer.add(this);
    await settledWithin(CLOSE_MS, [new Promise<void>((resolve) => this.#whenWritten.push(resolve))]);
  }

  /** After `stop`. `remove`: deletes what is stored. */
  async end({ remove }: { readonly remove: boolean }): Promise<void> {
    this.#outbox.dropWaiting();
    const removed = remove && !this.owner.isTaken ? this.remove() : Promise.resolve();
    await settledWithin(CLOSE_MS, [removed.catch((error: unknown) => this.state.report(messageOf(error)))]);
    this.close();
  }

  /** The file is damaged and was set aside. */
  damaged(reason: string): void {
    this.lose();
    this.settled.lose();
    const lost = this.#listener?.onLost() ?? 0;
    this.state.report(`${reason}; ${lost} messages of the queue are lost`);
  }

  get hasWaiting(): boolean {
    return (this.#outbox.hasWaiting || this.settled.isDue) && !this.owner.isTaken;
  }

  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[] {
    if (this.owner.isTaken) {
      this.taken();
      this.waits(TAKEN);
      this.#resolveWritten();
      return [];
    }
    const taken = this.#outbox.take(messages, bytes);
    if (this.#isIdle) this.#resolveWritten();
    return taken.map((entry) => entry.toWrite(this.parts.add(entry.id, 0)));
  }

  override takeSettled(): readonly IdRange[] {
    return this.owner.isTaken ? [] : this.settled.take();
  }

  override waits(reason: string): void {
    this.state.waits(reason);
  }

  /** Without messages that are settled: if the last attempt has stored some, they are deleted with the others. */
  override again({ messages, settled }: BatchContent): BatchContent {
    const isLeft = this.#outbox.again(messages.length);
    for (const { part } of messages.filter((_, index) => !isLeft[index])) part.waiting -= 1;
    const left = messages.filter((_, index) => isLeft[index]);
    return { messages: left, settled: [...settled, ...this.takeSettled()] };
  }

  override written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    super.written(messages, problem);
    const entries = this.#outbox.written(messages.length);
    if (problem === null) {
      this.#passed();
      this.#deleted();
      this.#listener?.onStored(entries);
    } else this.#listener?.onRefused(entries);
    if (this.#isIdle) this.#resolveWritten();
  }

  get #isIdle(): boolean {
    return !this.#outbox.isSending && !this.settled.isDeleting && !this.hasWaiting;
  }

  #deleted(): void {
    const deleted = this.settled.deleted();
    if (deleted.length === 0) return;
    for (const { id, bytes } of deleted.filter(({ place }) => place === 'DISK')) {
      this.parts.reduce(id, bytes);
      this.#deletedBytes += bytes;
    }
    if (!this.state.isStopped && (this.#deletedBytes >= SHRINK_BYTES || this.parts.past.length > 0)) void this.#tidy();
  }

  /** What fails is repeated later. */
  async #tidy(): Promise<void> {
    try {
      await this.erasePast();
      if (this.#deletedBytes < SHRINK_BYTES) return;
      this.#deletedBytes = 0;
      await this.shrink();
    } catch (error) {
      if (!this.isClosed && !this.owner.isTaken) this.state.report(messageOf(error));
    }
  }

  #resolveWritten(): void {
    for (const resolve of this.#whenWritten.splice(0)) resolve();
  }

  #passed(): void {
    if (!this.owner.isTaken) this.state.passed();
  }
}
