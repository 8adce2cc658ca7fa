import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import { BaseLog, type BaseLogOptions, clip, TAKEN, taken } from './base-log.ts';
import type { DiskUse } from './disk-use.ts';
import type { WaitingMessage } from './log-disk.ts';
import {
  asBuffer,
  bytesOf,
  countWithin,
  type IdRange,
  idRange,
  type NewMessage,
  type ReadOptions,
  readableRange,
  type StoredMessage,
  storedAt,
  type TimeBounds,
} from './log-message.ts';

/** FULL: the limit of the broker is reached. FAILED: messages wait to be stored, or are refused. */
export interface LogStorage {
  readonly state: 'STORING' | 'FULL' | 'FAILED';
  readonly messages: number;
  readonly bytes: number;
  /** Epoch milliseconds. `null` if nothing is stored. */
  readonly oldest: number | null;
  readonly newest: number | null;
  /** Why the state is FULL or FAILED. `null` otherwise. */
  readonly problem: string | null;
}

interface MessageLogOptions extends BaseLogOptions {
  readonly use: DiskUse;
  readonly ttl: number;
  /** A ttl could not be written. */
  readonly onProblem: (error: unknown) => void;
  readonly onTtl: (seconds: number) => void;
  /** Called when the removal begins. The function that it returns is called at its end. */
  readonly onRemove: () => () => void;
}

/** Limit of messages that wait for a slow disk. Callers should slow down long before. */
const MAX_WAITING_BYTES = 256 * 1_048_576;
const TOO_MANY = 'More messages wait to be stored than memory has room for';
const REMOVED = 'Its stream was removed';

/** Messages that are stored until they expire. */
export class MessageLog extends BaseLog {
  readonly #options: MessageLogOptions;
  ttl: number;
  #waiting: WaitingMessage[] = [];
  #waitingBytes = 0;
  #appended = 0;
  #finished = 0;
  #afterFinished: { readonly appended: number; readonly resolve: () => void }[] = [];
  #isRemoved = false;

  constructor(options: MessageLogOptions) {
    super(options);
    this.#options = options;
    this.ttl = options.ttl;
  }

  get isEmpty(): boolean {
    return this.parts.messages === 0 && this.#appended === this.#finished;
  }

  /** Bytes of the messages that are not written yet. */
  get pendingBytes(): number {
    return this.#waitingBytes;
  }

  /** Seconds until messages expire; 0: never. A message is never read later than after twice that time. */
  setTtl(seconds: number): void {
    if (seconds === this.ttl) return;
    this.ttl = seconds;
    const { onProblem, onTtl } = this.#options;
    try {
      this.disk.keepTtl(this);
    } catch (error) {
      onProblem(error);
    }
    onTtl(seconds);
    if (!this.disk.erasesExpired) this.forgetExpired();
  }

  /**
   * Queues a message in memory; messages are written in batches. `done` is called in the order of the calls, with
   * `null` when the message survives the end of the process, or with the reason why it is not stored; never after
   * `close`, or when another process has taken over.
   */
  append({ topic, payload, qos }: NewMessage, done: (problem: string | null) => void): void {
    if (this.isClosed) return;
    if (this.#isRemoved || this.#waitingBytes > MAX_WAITING_BYTES) {
      done(this.#isRemoved ? REMOVED : TOO_MANY);
      return;
    }
    const message = { topic, payload: asBuffer(payload), qos };
    const bytes = bytesOf(message);
    const id = Math.max(Math.floor(this.disk.now() * 1_000), this.parts.lastId + 1);
    this.#waiting.push({ id, ...message, bytes, part: this.parts.next(id, this.ttl), done });
    this.#waitingBytes += bytes;
    this.#appended += 1;
    this.writer.add(this);
  }

  /** Resolves when all messages appended before are stored or refused. */
  finished(): ValueOrPromise<void> {
    const appended = this.#appended;
    if (this.#finished === appended) return undefined;
    if (this.owner.isTaken) return Promise.reject(taken());
    return this.whileOpen(
      new Promise((resolve) => {
        this.#afterFinished.push({ appended, resolve });
      }),
    );
  }

  storage(): LogStorage {
    const problem = this.owner.isTaken ? TAKEN : this.writer.problem;
    const full = this.#options.use.refusal();
    const { messages, bytes, ends } = this.parts;
    return {
      state: problem !== null ? 'FAILED' : full === null ? 'STORING' : 'FULL',
      messages,
      bytes,
      oldest: ends === null ? null : storedAt(ends.from),
      newest: ends === null ? null : storedAt(ends.to),
      problem: problem ?? full,
    };
  }

  count(bounds: TimeBounds): ValueOrPromise<number> {
    const range = this.#unexpired(idRange(bounds));
    let sum: ValueOrPromise<number> = 0;
    for (const part of this.parts.within(range)) {
      const isWhole = part.first >= range.from && part.last <= range.to;
      const count = isWhole ? part.messages : this.disk.count(this, part, clip(range, part));
      sum = after(sum, (before) => after(count, (more) => before + more));
    }
    return sum;
  }

  /**
   * Returns at most `limit` messages within the bounds: after the id `after` in ascending order or, if `reverse` is
   * true, before it in descending order.
   */
  read(options: ReadOptions): ValueOrPromise<readonly StoredMessage[]> {
    return this.page(this.#unexpired(readableRange(options)), options);
  }

  /** Deletes messages, but none that is appended after the call. Returns their number. */
  async clear(bounds: TimeBounds): Promise<number> {
    const { from, to } = idRange(bounds);
    const upTo = Math.min(this.parts.lastId, to);
    await this.finished();
    return this.erase({ from, to: upTo });
  }

  /** Later `append` calls are refused. */
  override async remove(): Promise<void> {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    const removed = this.#options.onRemove();
    try {
      this.written(this.takeWaiting(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), REMOVED);
      await super.remove();
    } finally {
      removed();
    }
  }

  /** Deletes messages that are older than the ttl, or forgets them where another one deletes them. */
  async expire(): Promise<void> {
    if (this.ttl === 0 || this.isClosed || this.#isRemoved) return;
    const to = this.#idOfAge(this.ttl) - 1;
    if (!this.disk.erasesExpired) this.forgetExpired();
    else if (this.parts.within({ from: 0, to }).length > 0) await this.erase({ from: 0, to });
  }

  forgetExpired(): void {
    if (this.ttl > 0) this.#options.use.add(-this.parts.forgetBefore(this.#idOfAge(this.ttl)));
  }

  /** So that the broker sends them again. */
  override close(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    super.close();
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0 && !this.owner.isTaken;
  }

  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[] {
    if (this.owner.isTaken) {
      this.taken();
      return [];
    }
    const full = this.#isRemoved ? null : this.#options.use.refusal();
    if (full !== null) {
      this.written(this.#waiting.splice(0), full);
      return [];
    }
    return this.#waiting.splice(0, countWithin(this.#waiting, messages, bytes));
  }

  override written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    for (const { bytes } of messages) this.#waitingBytes -= bytes;
    super.written(messages, problem);
    this.#finished += messages.length;
    const ready = this.#afterFinished.filter(({ appended }) => appended <= this.#finished);
    this.#afterFinished = this.#afterFinished.filter(({ appended }) => appended > this.#finished);
    for (const { resolve } of ready) resolve();
  }

  protected override counted(bytes: number): void {
    this.#options.use.add(bytes);
  }

  /** Excludes messages that are older than twice the ttl, which may be deleted at any time. */
  #unexpired({ from, to }: IdRange): IdRange {
    return this.ttl === 0 ? { from, to } : { from: Math.max(from, this.#idOfAge(2 * this.ttl)), to };
  }

  #idOfAge(seconds: number): number {
    return Math.floor((this.disk.now() - seconds * 1_000) * 1_000);
  }
}
