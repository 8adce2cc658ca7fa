import { ServiceError } from '../../platform/errors.ts';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { Erased, LogDisk, LogOwner, PageOptions, WaitingMessage } from './log-disk.ts';
import type { IdRange, StoredMessage } from './log-message.ts';
import { pageOf } from './log-page.ts';
import type { LogPart, LogParts } from './log-parts.ts';
import type { BatchContent, LogWriter, WritingLog } from './log-writer.ts';

export interface BaseLogOptions {
  readonly disk: LogDisk;
  readonly writer: LogWriter;
  readonly owner: LogOwner;
  readonly name: string;
  /** `null` if nothing was stored yet. */
  readonly number: number | null;
  readonly parts: LogParts;
}

/**
 * What all logs have in common: messages in the order of their ids, written by a writer. What is stored is known in
 * memory, because no other process writes it. Errors of methods that read or delete: those of the disk,
 * DATABASE_UNAVAILABLE, and BROKER_UNREACHABLE after `close`, or when another process has taken over.
 */
export abstract class BaseLog implements WritingLog {
  readonly owner: LogOwner;
  readonly name: string;
  number: number | null;
  isClosed = false;
  protected readonly disk: LogDisk;
  protected readonly writer: LogWriter;
  protected readonly parts: LogParts;
  readonly #whenEnded = new Set<(reason: ServiceError) => void>();

  constructor({ disk, writer, owner, name, number, parts }: BaseLogOptions) {
    this.disk = disk;
    this.writer = writer;
    this.owner = owner;
    this.name = name;
    this.number = number;
    this.parts = parts;
  }

  abstract readonly ttl: number;
  abstract readonly hasWaiting: boolean;
  abstract takeWaiting(messages: number, bytes: number): readonly WaitingMessage[];

  takeSettled(): readonly IdRange[] {
    return [];
  }

  waits(_reason: string): void {}

  again({ messages, settled }: BatchContent): BatchContent {
    return { messages, settled };
  }

  get lastId(): number {
    return this.parts.lastId;
  }

  written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    for (const { id, bytes, part, done } of messages) {
      part.waiting -= 1;
      if (problem === null) {
        part.first = part.messages === 0 ? id : Math.min(part.first, id);
        part.last = part.messages === 0 ? id : Math.max(part.last, id);
        part.messages += 1;
        part.bytes += bytes;
        this.counted(bytes);
      }
      done(problem);
    }
  }

  /** What was stored is lost, as its disk found. */
  lose(): void {
    this.number = null;
    this.counted(-this.parts.lose());
  }

  /** Messages that are not stored by now are never reported as done. */
  close(): void {
    this.isClosed = true;
    this.writer.remove(this);
    for (const reject of this.#whenEnded) reject(closed());
  }

  /** Deletes the log with its messages. */
  async remove(): Promise<void> {
    this.writer.remove(this);
    await this.alone(() => this.disk.release(this));
    await this.erase({ from: 0, to: Number.MAX_SAFE_INTEGER });
    await this.alone(() => this.disk.drop(this));
    this.number = null;
  }

  /** The size of what is stored has changed. */
  protected counted(_bytes: number): void {}

  /** The owner is another process. */
  protected taken(): void {
    for (const reject of this.#whenEnded) reject(taken());
  }

  protected page(range: IdRange, options: PageOptions): ValueOrPromise<readonly StoredMessage[]> {
    return pageOf(this.parts.clusters(range), range, options, (part, left) => this.disk.page(this, part, left));
  }

  /** Returns the number of deleted messages. */
  protected async erase(range: IdRange): Promise<number> {
    let sum = 0;
    for (const part of this.parts.within(range)) sum += await this.#erasePart(part, range);
    if (sum > 0) await this.shrink();
    return sum;
  }

  /** Erases what is left of parts without messages, which get no others. */
  protected async erasePast(): Promise<void> {
    for (const part of this.parts.past) {
      await this.alone(async () => {
        // Unless messages came meanwhile.
        if (part.messages > 0 || part.waiting > 0) return;
        await this.disk.erase(this, part, { from: part.first, to: part.last }, 1);
        this.parts.forgetEmpty(part);
      });
    }
  }

  protected async shrink(): Promise<void> {
    while (!(await this.alone(() => this.disk.shrink())));
  }

  /** Runs `work` between two writes. */
  protected async alone<T>(work: () => ValueOrPromise<T>): Promise<T> {
    return this.whileOpen(
      this.writer.alone(() => {
        if (this.isClosed) throw closed();
        if (this.owner.isTaken) throw taken();
        return work();
      }),
    );
  }

  protected whileOpen<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) reject(closed());
      this.#whenEnded.add(reject);
      work.then(resolve, reject).finally(() => this.#whenEnded.delete(reject));
    });
  }

  async #erasePart(part: LogPart, range: IdRange): Promise<number> {
    const { messages, bytes } = this.disk.maxErased;
    const limit = Math.max(1, Math.min(messages, Math.floor((bytes * part.messages) / Math.max(1, part.bytes))));
    for (let sum = 0; ; ) {
      const erased = await this.alone(async (): Promise<Erased> => {
        if (part.messages === 0) return { messages: 0, left: null };
        const gone = await this.disk.erase(this, part, clip(range, part), limit);
        this.counted((gone.left?.bytes ?? 0) - part.bytes);
        Object.assign(part, gone.left ?? { messages: 0, bytes: 0 });
        this.parts.forgetEmpty(part);
        return gone;
      });
      sum += erased.messages;
      if (erased.messages < limit) return sum;
    }
  }
}

export const TAKEN = 'Another process has taken over the stored messages of the broker';

export const taken = (): ServiceError => new ServiceError('BROKER_UNREACHABLE', TAKEN);

const closed = (): ServiceError =>
  new ServiceError('BROKER_UNREACHABLE', 'The stored messages were closed before all were written');

export const clip = ({ from, to }: IdRange, { first, last }: LogPart): IdRange => ({
  from: Math.max(from, first),
  to: Math.min(to, last),
});
