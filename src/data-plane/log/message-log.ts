import { ServiceError } from '../../platform/errors.ts';
import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { DiskUse } from './disk-use.ts';
import type { Erased, LogDisk, LogOwner, WaitingMessage } from './log-disk.ts';
import {
  asBuffer,
  bytesOf,
  type IdRange,
  idRange,
  type NewMessage,
  type ReadOptions,
  readableRange,
  type StoredMessage,
  storedAt,
  type TimeBounds,
} from './log-message.ts';
import type { LogPart, LogParts } from './log-parts.ts';
import type { LogWriter, WritingLog } from './log-writer.ts';

/** FULL: the limit of the broker is reached. FAILED: messages wait to be stored, or are refused. */
interface LogStorage {
  readonly state: 'STORING' | 'FULL' | 'FAILED';
  readonly messages: number;
  readonly bytes: number;
  /** Epoch milliseconds. `null` if nothing is stored. */
  readonly oldest: number | null;
  readonly newest: number | null;
  /** Why the state is FULL or FAILED. `null` otherwise. */
  readonly problem: string | null;
}

interface MessageLogOptions {
  readonly disk: LogDisk;
  readonly writer: LogWriter;
  readonly use: DiskUse;
  readonly owner: LogOwner;
  readonly name: string;
  /** `null` if nothing was stored yet. */
  readonly number: number | null;
  readonly ttl: number;
  readonly parts: LogParts;
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
const TAKEN = 'Another process has taken over the stored messages of the broker';

/**
 * Messages in the order of their ids, stored until they expire. What is stored is known in memory, because no other
 * process writes it. Errors of methods that read or delete: those of the disk, DATABASE_UNAVAILABLE, and
 * BROKER_UNREACHABLE after `close`.
 */
export class MessageLog implements WritingLog {
  readonly #options: MessageLogOptions;
  readonly owner: LogOwner;
  readonly name: string;
  number: number | null;
  ttl: number;
  readonly #parts: LogParts;
  #waiting: WaitingMessage[] = [];
  #waitingBytes = 0;
  #appended = 0;
  #finished = 0;
  #afterFinished: { readonly appended: number; readonly resolve: () => void }[] = [];
  readonly #whenEnded = new Set<(reason: ServiceError) => void>();
  #isRemoved = false;
  isClosed = false;

  constructor(options: MessageLogOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.name = options.name;
    this.number = options.number;
    this.ttl = options.ttl;
    this.#parts = options.parts;
  }

  get isEmpty(): boolean {
    return this.#parts.messages === 0 && this.#appended === this.#finished;
  }

  get lastId(): number {
    return this.#parts.lastId;
  }

  /** Bytes of the messages that are not written yet. */
  get pendingBytes(): number {
    return this.#waitingBytes;
  }

  /** Seconds until messages expire; 0: never. A message is never read later than after twice that time. */
  setTtl(seconds: number): void {
    if (seconds === this.ttl) return;
    this.ttl = seconds;
    const { disk, onProblem, onTtl } = this.#options;
    try {
      disk.keepTtl(this);
    } catch (error) {
      onProblem(error);
    }
    onTtl(seconds);
    if (!disk.erasesExpired) this.forgetExpired();
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
    const id = Math.max(Math.floor(this.#options.disk.now() * 1_000), this.#parts.lastId + 1);
    this.#waiting.push({ id, ...message, bytes, part: this.#parts.next(id, this.ttl), done });
    this.#waitingBytes += bytes;
    this.#appended += 1;
    this.#options.writer.add(this);
  }

  /** Resolves when all messages appended before are stored or refused. */
  finished(): ValueOrPromise<void> {
    const appended = this.#appended;
    if (this.#finished === appended) return undefined;
    if (this.owner.isTaken) return Promise.reject(taken());
    return this.#whileOpen(
      new Promise((resolve) => {
        this.#afterFinished.push({ appended, resolve });
      }),
    );
  }

  storage(): LogStorage {
    const { writer, use } = this.#options;
    const problem = this.owner.isTaken ? TAKEN : writer.problem;
    const full = use.refusal();
    const { messages, bytes, ends } = this.#parts;
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
    for (const part of this.#parts.within(range)) {
      const isWhole = part.first >= range.from && part.last <= range.to;
      const count = isWhole ? part.messages : this.#options.disk.count(this, part, clip(range, part));
      sum = after(sum, (before) => after(count, (more) => before + more));
    }
    return sum;
  }

  /**
   * Returns at most `limit` messages within the bounds: after the id `after` in ascending order or, if `reverse` is
   * true, before it in descending order.
   */
  read(options: ReadOptions): ValueOrPromise<readonly StoredMessage[]> {
    const range = this.#unexpired(readableRange(options));
    const clusters = this.#parts.clusters(range);
    if (options.reverse) clusters.reverse();
    const next = (page: readonly StoredMessage[]): ValueOrPromise<readonly StoredMessage[]> => {
      const cluster = clusters.shift();
      const { limit, maxBytes, reverse } = options;
      const bytes = page.reduce((sum, { payload }) => sum + payload.length, 0);
      const left = { reverse, limit: limit - page.length, maxBytes: maxBytes - bytes };
      if (cluster === undefined || left.limit <= 0 || left.maxBytes <= 0) return page;
      const { from, to } = range;
      const part = { widths: cluster.widths, from: Math.max(from, cluster.from), to: Math.min(to, cluster.to) };
      const more = this.#options.disk.page(this, part, left);
      return after(more, (messages) => {
        const sum = messages.reduce((all, { payload }) => all + payload.length, bytes);
        // The first message of a later part does not fit.
        if (page.length > 0 && sum > maxBytes) return page;
        const last = messages.at(-1)?.id;
        const isRead = last === undefined || (reverse ? last <= part.from : last >= part.to);
        const read = page.length === 0 ? messages : [...page, ...messages];
        // What follows must not come before the rest of the part.
        return isRead ? next(read) : read;
      });
    };
    return next([]);
  }

  /** Deletes messages, but none that is appended after the call. Returns their number. */
  async clear(bounds: TimeBounds): Promise<number> {
    const { from, to } = idRange(bounds);
    const upTo = Math.min(this.#parts.lastId, to);
    await this.finished();
    return this.#erase({ from, to: upTo });
  }

  /** Deletes all messages. Later `append` calls are refused. */
  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    const { writer, disk, onRemove } = this.#options;
    const removed = onRemove();
    try {
      writer.remove(this);
      this.written(this.takeWaiting(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), REMOVED);
      await this.#alone(() => disk.release(this));
      await this.#erase({ from: 0, to: Number.MAX_SAFE_INTEGER });
      await this.#alone(() => disk.drop(this));
    } finally {
      removed();
    }
  }

  /** Deletes messages that are older than the ttl, or forgets them where another one deletes them. */
  async expire(): Promise<void> {
    if (this.ttl === 0 || this.isClosed || this.#isRemoved) return;
    const to = this.#idOfAge(this.ttl) - 1;
    if (!this.#options.disk.erasesExpired) this.forgetExpired();
    else if (this.#parts.within({ from: 0, to }).length > 0) await this.#erase({ from: 0, to });
  }

  forgetExpired(): void {
    if (this.ttl > 0) this.#options.use.add(-this.#parts.forgetBefore(this.#idOfAge(this.ttl)));
  }

  /** What was stored is lost, as its disk found. */
  lose(): void {
    this.number = null;
    this.#options.use.add(-this.#parts.lose());
  }

  /** Messages that are not stored by now are never reported as done, so that the broker sends them again. */
  close(): void {
    this.isClosed = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#options.writer.remove(this);
    for (const reject of this.#whenEnded) reject(closed());
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0 && !this.owner.isTaken;
  }

  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[] {
    if (this.owner.isTaken) {
      for (const reject of this.#whenEnded) reject(taken());
      return [];
    }
    const full = this.#isRemoved ? null : this.#options.use.refusal();
    if (full !== null) {
      this.written(this.#waiting.splice(0), full);
      return [];
    }
    let [count, sum] = [0, 0];
    for (const message of this.#waiting) {
      sum += message.bytes;
      if (count > 0 && (count >= messages || sum > bytes)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    for (const { id, bytes, part, done } of messages) {
      part.waiting -= 1;
      this.#waitingBytes -= bytes;
      if (problem === null) {
        if (part.messages === 0) part.first = id;
        part.messages += 1;
        part.bytes += bytes;
        part.last = id;
        this.#options.use.add(bytes);
      }
      done(problem);
    }
    this.#finished += messages.length;
    const ready = this.#afterFinished.filter(({ appended }) => appended <= this.#finished);
    this.#afterFinished = this.#afterFinished.filter(({ appended }) => appended > this.#finished);
    for (const { resolve } of ready) resolve();
  }

  async #erase(range: IdRange): Promise<number> {
    const { disk } = this.#options;
    let sum = 0;
    for (const part of this.#parts.within(range)) sum += await this.#erasePart(part, range);
    if (sum > 0) while (!(await this.#alone(() => disk.shrink())));
    return sum;
  }

  async #erasePart(part: LogPart, range: IdRange): Promise<number> {
    const { disk, use } = this.#options;
    const { messages, bytes } = disk.maxErased;
    const limit = Math.max(1, Math.min(messages, Math.floor((bytes * part.messages) / Math.max(1, part.bytes))));
    for (let sum = 0; ; ) {
      const erased = await this.#alone(async (): Promise<Erased> => {
        if (part.messages === 0) return { messages: 0, left: null };
        const gone = await disk.erase(this, part, clip(range, part), limit);
        use.add((gone.left?.bytes ?? 0) - part.bytes);
        Object.assign(part, gone.left ?? { messages: 0, bytes: 0 });
        this.#parts.forgetEmpty(part);
        return gone;
      });
      sum += erased.messages;
      if (erased.messages < limit) return sum;
    }
  }

  async #alone<T>(work: () => ValueOrPromise<T>): Promise<T> {
    const { writer } = this.#options;
    return this.#whileOpen(
      writer.alone(() => {
        if (this.isClosed) throw closed();
        if (this.owner.isTaken) throw taken();
        return work();
      }),
    );
  }

  #whileOpen<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) reject(closed());
      this.#whenEnded.add(reject);
      work.then(resolve, reject).finally(() => this.#whenEnded.delete(reject));
    });
  }

  /** Excludes messages that are older than twice the ttl, which may be deleted at any time. */
  #unexpired({ from, to }: IdRange): IdRange {
    return this.ttl === 0 ? { from, to } : { from: Math.max(from, this.#idOfAge(2 * this.ttl)), to };
  }

  #idOfAge(seconds: number): number {
    return Math.floor((this.#options.disk.now() - seconds * 1_000) * 1_000);
  }
}

const closed = (): ServiceError =>
  new ServiceError('BROKER_UNREACHABLE', 'The stored messages were closed before all were written');

const taken = (): ServiceError => new ServiceError('BROKER_UNREACHABLE', TAKEN);

const clip = ({ from, to }: IdRange, { first, last }: LogPart): IdRange => ({
  from: Math.max(from, first),
  to: Math.min(to, last),
});
