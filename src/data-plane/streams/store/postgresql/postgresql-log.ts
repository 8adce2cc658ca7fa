import { ServiceError } from '../../../../platform/errors.ts';
import { isTemporary } from '../../../../platform/storage/postgresql/postgresql-connection.ts';
import type { TimeBounds } from '../../model/stream-engine.ts';
import type { StreamStorage } from '../../model/stream-report.ts';
import type { DiskUse } from '../disk-use.ts';
import {
  asBuffer,
  type IdRange,
  idRange,
  MESSAGE_BYTES,
  type MessageLog,
  type NewMessage,
  type ReadOptions,
  readableRange,
  type StoredMessage,
  storedAt,
} from '../message-store.ts';
import type { WaitingMessage } from './message-batches.ts';
import type { MessageTables } from './message-tables.ts';
import type { MessageWriter, WritingLog } from './message-writer.ts';
import { type StoredSegment, StoredSegments } from './stored-segments.ts';

interface PostgresqlLogOptions {
  readonly brokerId: string;
  readonly streamId: string;
  /** `null` if nothing was stored yet. */
  readonly number: number | null;
  readonly segments: StoredSegments;
  readonly tables: MessageTables;
  readonly writer: MessageWriter;
  readonly disk: DiskUse;
  /** Called when the removal begins. The function that it returns is called at its end. */
  readonly onRemove: () => () => void;
}

interface FinishedWaiter {
  readonly appended: number;
  readonly resolve: () => void;
  readonly reject: (reason: ServiceError) => void;
}

const REMOVED = 'Its stream was removed';

/**
 * The messages of one stream in PostgreSQL. What is stored is known in memory, because no other process writes it. The
 * engine bounds the messages that wait to be written.
 */
export class PostgresqlLog implements MessageLog, WritingLog {
  readonly #options: PostgresqlLogOptions;
  #number: number | null;
  #segments: StoredSegments;
  #waiting: WaitingMessage[] = [];
  #appended = 0;
  #finished = 0;
  #afterFinished: FinishedWaiter[] = [];
  #ttl = 0;
  #isRemoved = false;
  readonly isBehind = false;
  isClosed = false;

  constructor(options: PostgresqlLogOptions) {
    this.#options = options;
    this.#number = options.number;
    this.#segments = options.segments;
  }

  get isEmpty(): boolean {
    return this.#segments.messages === 0 && this.#appended === this.#finished;
  }

  setTtl(seconds: number): void {
    this.#ttl = seconds;
    this.removeExpired();
  }

  append({ topic, payload, qos }: NewMessage, done: (problem: string | null) => void): void {
    if (this.#isRemoved) {
      done(REMOVED);
      return;
    }
    if (this.isClosed) return;
    const content = asBuffer(payload);
    const bytes = content.length + topic.length + MESSAGE_BYTES;
    const id = this.#nextId();
    const segment = this.#segments.next(id, bytes, this.#ttl);
    this.#appended += 1;
    this.#waiting.push({ id, segment, topic, payload: content, qos, bytes, done });
    this.#options.writer.add(this);
  }

  storage(): StreamStorage {
    const { writer, disk } = this.#options;
    const { messages, bytes, oldest, newest } = this.#segments;
    const full = disk.refusal();
    return {
      state: writer.problem !== null ? 'FAILED' : full === null ? 'STORING' : 'FULL',
      messages,
      bytes,
      oldest: oldest === null ? null : storedAt(oldest),
      newest: newest === null ? null : storedAt(newest),
      problem: writer.problem ?? full,
    };
  }

  async count(bounds: TimeBounds): Promise<number> {
    const range = this.#unexpired(idRange(bounds));
    const counts = this.#segments.within(range).map((segment) => {
      const isWhole = segment.first >= range.from && segment.last <= range.to;
      if (isWhole) return segment.messages;
      return this.#options.tables.count(this.#stored, segment, clipped(range, segment)).catch(unavailable);
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  async read({ limit, maxBytes, ...options }: ReadOptions): Promise<StoredMessage[]> {
    const { reverse } = options;
    const range = this.#unexpired(readableRange(options, options));
    let { from, to } = range;
    const segments = this.#segments.within(range);
    const page: StoredMessage[] = [];
    let bytes = 0;
    for (const segment of reverse ? segments.reverse() : segments) {
      const left = { reverse, limit: limit - page.length, maxBytes: maxBytes - bytes };
      if (left.limit <= 0 || left.maxBytes <= 0) break;
      const part = clipped({ from, to }, segment);
      const messages = await this.#options.tables.page(this.#stored, segment, part, left).catch(unavailable);
      page.push(...messages);
      bytes += messages.reduce((sum, { payload }) => sum + payload.length, 0);
      const last = messages.at(-1)?.id;
      if (last === undefined) continue;
      // The rest of the segment did not fit, and what follows must not come before it.
      if (reverse ? last > part.from : last < part.to) break;
      if (reverse) to = last - 1;
      else from = last + 1;
    }
    return page;
  }

  async clear(bounds: TimeBounds): Promise<number> {
    const { from, to } = idRange(bounds);
    const upTo = Math.min(this.#segments.lastId, to);
    // What is appended from now on belongs to another segment, so that segments can be counted again.
    this.#segments.endCurrent();
    await this.finished();
    return this.#erase({ from, to: upTo });
  }

  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    const removed = this.#options.onRemove();
    try {
      await this.finished();
      await this.#erase({ from: 0, to: Number.MAX_SAFE_INTEGER });
      // Another process may store messages by now.
      if (this.isClosed) throw closed();
      if (this.#number !== null) await this.#options.tables.remove(this.#number).catch(unavailable);
    } finally {
      removed();
    }
  }

  streamNumber(): number | Promise<number> {
    return this.#number ?? this.#newNumber();
  }

  finished(): Promise<void> {
    const appended = this.#appended;
    if (this.#finished === appended) return Promise.resolve();
    if (this.isClosed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      this.#afterFinished.push({ appended, resolve, reject });
    });
  }

  /** Messages that are not stored by now are never reported as done, so that the broker sends them again. */
  close(): void {
    this.isClosed = true;
    this.#waiting = [];
    this.#options.writer.remove(this);
    for (const { reject } of this.#afterFinished.splice(0)) reject(closed());
  }

  removeExpired(): void {
    if (this.#ttl > 0) this.#options.disk.add(-this.#segments.removeBefore(this.#idOfAge(this.#ttl)));
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[] {
    const full = this.#options.disk.refusal();
    if (full !== null) {
      this.written(this.#waiting.splice(0), full);
      return [];
    }
    let count = 0;
    let sum = 0;
    for (const message of this.#waiting) {
      sum += message.bytes;
      if (count > 0 && (count >= messages || sum > bytes)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (this.isClosed) return;
    for (const { id, bytes, segment, done } of messages) {
      segment.waiting -= 1;
      if (problem === null) {
        if (segment.messages === 0) segment.first = id;
        segment.messages += 1;
        segment.bytes += bytes;
        segment.last = id;
        this.#options.disk.add(bytes);
      }
      done(problem);
    }
    this.#finished += messages.length;
    const ready = this.#afterFinished.filter(({ appended }) => appended <= this.#finished);
    this.#afterFinished = this.#afterFinished.filter(({ appended }) => appended > this.#finished);
    for (const { resolve } of ready) resolve();
  }

  async renumber(messages: readonly WaitingMessage[]): Promise<readonly WaitingMessage[]> {
    const { tables, disk } = this.#options;
    const stored = await tables.ofStream(this.#options.streamId);
    const segments = stored?.segments ?? new StoredSegments([], 0);
    disk.add(segments.bytes - this.#segments.bytes);
    // Together, because pages are read meanwhile.
    this.#segments = segments;
    this.#number = stored?.number ?? null;
    const again = messages.map((message) => this.#renumbered(message));
    this.#waiting = this.#waiting.map((message) => this.#renumbered(message));
    return again;
  }

  #renumbered(message: WaitingMessage): WaitingMessage {
    const id = this.#nextId();
    return { ...message, id, segment: this.#segments.next(id, message.bytes, this.#ttl) };
  }

  #nextId(): number {
    return Math.max(Math.floor(this.#options.writer.now() * 1_000), this.#segments.lastId + 1);
  }

  async #newNumber(): Promise<number> {
    const { tables, brokerId, streamId } = this.#options;
    this.#number = await tables.numberOf(brokerId, streamId);
    return this.#number;
  }

  /** The number of the stream if something is stored. */
  get #stored(): number {
    return this.#number ?? 0;
  }

  async #erase(range: IdRange): Promise<number> {
    const { tables, disk } = this.#options;
    let sum = 0;
    for (const segment of this.#segments.within(range)) {
      const part = clipped(range, segment);
      const { removed, left } = await tables.erase(this.#stored, segment, part, MESSAGE_BYTES).catch(unavailable);
      sum += removed;
      disk.add((left?.bytes ?? 0) - segment.bytes);
      if (left === null) this.#segments.remove(segment);
      else Object.assign(segment, left);
    }
    return sum;
  }

  /** Excludes messages that are older than twice the ttl, whose partition may be dropped at any time. */
  #unexpired({ from, to }: IdRange): IdRange {
    return this.#ttl === 0 ? { from, to } : { from: Math.max(from, this.#idOfAge(2 * this.#ttl)), to };
  }

  #idOfAge(seconds: number): number {
    return Math.floor((this.#options.writer.now() - seconds * 1_000) * 1_000);
  }
}

const unavailable = (error: Error): never => {
  throw isTemporary(error) ? new ServiceError('DATABASE_UNAVAILABLE', error.message, { cause: error }) : error;
};

const closed = (): ServiceError =>
  new ServiceError('BROKER_UNREACHABLE', 'The stored messages were closed before all were written');

/** The part of the range within a segment: other segments have the same partition. */
const clipped = ({ from, to }: IdRange, { first, last }: StoredSegment): IdRange => ({
  from: Math.max(from, first),
  to: Math.min(to, last),
});
