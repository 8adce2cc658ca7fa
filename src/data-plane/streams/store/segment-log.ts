import type { Committer, GroupCommit } from '../../../platform/scheduling/group-commit.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { batchLength, diskFailure, RETRY_MS, reasonOf } from '../../../platform/storage/message-files/batch.ts';
import type { TimeBounds } from '../model/stream-engine.ts';
import type { StreamStorage } from '../model/stream-report.ts';
import type { DiskUse } from './disk-use.ts';
import { erase, eraseRange } from './erasing.ts';
import {
  asBuffer,
  idRange,
  MESSAGE_BYTES,
  type MessageLog,
  type NewMessage,
  type ReadOptions,
  readableRange,
  SEGMENTS_OF_TTL,
  type StoredMessage,
  storedAt,
} from './message-store.ts';
import { readPage } from './reading.ts';
import type { Segment } from './segment.ts';
import type { SegmentFacts } from './segment-file.ts';
import type { SegmentFolder } from './segment-folder.ts';

/** Limit of messages waiting for a slow disk. Callers should slow down long before (`pendingBytes`). */
const MAX_PENDING_BYTES = 256 * 1024 * 1024;

interface Pending extends StoredMessage {
  readonly bytes: number;
  readonly done: (problem: string | null) => void;
}

interface SegmentLogOptions {
  readonly folder: SegmentFolder;
  readonly disk: DiskUse;
  readonly groupCommit: GroupCommit;
  readonly segmentBytes: number;
  readonly now: () => number;
  readonly onProblem: (reason: string) => void;
  readonly onTtl: (seconds: number) => void;
  readonly onRemove: () => void;
}

/**
 * The messages of one stream in segments of at most a quarter of the ttl. Whole files expire: a file is deleted when
 * its newest message is older than the ttl, and before its oldest message is twice as old.
 *
 * If a batch cannot be written, it fails with the reason, and so do all messages until the next retry after RETRY_MS.
 */
export class SegmentLog implements Committer, MessageLog {
  readonly #options: SegmentLogOptions;
  readonly #folder: SegmentFolder;
  #pending: Pending[] = [];
  pendingBytes = 0;
  #lastId: number | null = null;
  /** Messages with a higher id are not stored in the same segment as those up to this id. */
  #boundary = 0;
  ttl: number;
  #failure: { readonly reason: string; readonly until: number } | null = null;
  #ended: string | null = null;

  constructor(options: SegmentLogOptions) {
    this.#options = options;
    this.#folder = options.folder;
    this.ttl = options.folder.ttl ?? 0;
  }

  get isEmpty(): boolean {
    return this.#folder.segments.length === 0;
  }

  setTtl(seconds: number): void {
    this.ttl = seconds;
    try {
      this.#folder.keepTtl(seconds);
    } catch (error) {
      this.#options.onProblem(`How long messages are kept could not be written: ${reasonOf(error)}`);
    }
    this.#options.onTtl(seconds);
  }

  append({ topic, payload, qos }: NewMessage, done: (problem: string | null) => void): void {
    if (this.#ended !== null) {
      done(this.#ended);
      return;
    }
    const id = this.#nextId();
    const content = asBuffer(payload);
    const bytes = content.length + topic.length + MESSAGE_BYTES;
    this.#pending.push({ id, topic, payload: content, qos, bytes, done });
    this.pendingBytes += bytes;
    this.#options.groupCommit.add(this);
  }

  commit(): boolean {
    const batch = this.#nextBatch();
    if (batch.length === 0) return false;
    const bytes = batch.reduce((sum, message) => sum + message.bytes, 0);
    const problem = this.pendingBytes > MAX_PENDING_BYTES ? TOO_MANY : this.#store(batch);
    this.pendingBytes -= bytes;
    for (const { done } of batch) done(problem);
    return this.#pending.length > 0;
  }

  finished(): void {
    while (this.commit());
  }

  storage(): StreamStorage {
    // No write was attempted since the retry was due.
    if (this.#failure && this.#options.now() > this.#failure.until + RETRY_MS) this.#failure = null;
    const all = this.#folder.segments.map((segment) => this.#factsOf(segment)).filter((facts) => facts !== null);
    const facts = all.filter(({ messages }) => messages > 0);
    const [oldest, newest] = [facts[0], facts.at(-1)];
    const full = this.#options.disk.refusal();
    return {
      state: this.#failure ? 'FAILED' : full === null ? 'STORING' : 'FULL',
      messages: facts.reduce((sum, { messages }) => sum + messages, 0),
      bytes: this.#folder.bytes,
      oldest: oldest ? storedAt(oldest.first) : null,
      newest: newest ? storedAt(newest.last) : null,
      problem: this.#failure?.reason ?? full,
    };
  }

  count(bounds: TimeBounds): number {
    const { from, to } = this.#range(bounds);
    const counts = this.#folder.within(from, to).map((segment) =>
      this.#folder.look(segment, ({ facts, file }) => {
        const isWhole = facts.first >= from && facts.last <= to;
        return isWhole || facts.messages === 0 ? facts.messages : file.count(from, to);
      }),
    );
    return counts.reduce((sum: number, count) => sum + (count ?? 0), 0);
  }

  read({ reverse, limit, maxBytes, ...options }: ReadOptions): StoredMessage[] {
    const { from } = this.#range(options);
    const range = readableRange(options, { ...options, reverse });
    return readPage(this.#folder, { ...range, from: Math.max(from, range.from), reverse, limit, maxBytes });
  }

  /** Deletes in slices, so that other work is not blocked for long. */
  clear(bounds: TimeBounds): Promise<number> {
    return runInSlices(this.#clearing(bounds));
  }

  async remove(): Promise<void> {
    if (this.#ended !== null) return;
    this.#end('Its stream was removed');
    this.#options.onRemove();
    await runInSlices(this.#folder.removal());
  }

  *close(): SlicedTask<void> {
    while (this.commit()) yield;
    this.#end('The streams are being closed');
  }

  /** Whether messages may be older than the ttl. Compares file names only, for there may be thousands of streams. */
  get mayHaveExpired(): boolean {
    const [oldest] = this.#folder.segments;
    if (this.ttl === 0) return false;
    return this.#folder.hasSetAside || (oldest !== undefined && oldest.base < this.#idOfAge(this.ttl));
  }

  *expiry(): SlicedTask<void> {
    if (this.ttl === 0) return;
    const young = this.#idOfAge(this.ttl);
    const tooOld = this.#idOfAge(2 * this.ttl);
    for (const segment of [...this.#folder.segments]) {
      if (segment.base >= young) break;
      if (this.#folder.endOf(segment) > young) {
        const facts = this.#folder.look(segment, (each) => each.facts);
        if (facts === null) continue;
        if (facts.messages > 0 && facts.last >= young) {
          // Only a segment created under a longer ttl is that old.
          if (facts.first < tooOld) yield* erase(this.#folder, segment, 0, young - 1);
          continue;
        }
      }
      this.#folder.drop(segment);
      yield;
    }
    this.#folder.forgetSetAside(young / 1_000);
  }

  *#clearing(bounds: TimeBounds): SlicedTask<number> {
    // Messages appended from now on are not cleared.
    const { from, to } = idRange(bounds);
    const upTo = Math.min(this.#lastKnownId(), to);
    this.#boundary = Math.max(this.#boundary, upTo);
    while ((this.#pending[0]?.id ?? Number.POSITIVE_INFINITY) <= upTo && this.commit()) yield;
    const removed = yield* eraseRange(this.#folder, from, upTo);
    if (bounds.from === null && bounds.to === null) this.#folder.forgetSetAside(Number.POSITIVE_INFINITY);
    return removed;
  }

  /** Takes the next messages of one segment, limited to one transaction. */
  #nextBatch(): Pending[] {
    const [first] = this.#pending;
    if (first === undefined) return [];
    const end = (this.#segmentFor(first.id)?.base ?? first.id) + this.#span();
    const isBefore = first.id <= this.#boundary;
    const belongs = ({ id }: Pending) => id < end && (!isBefore || id <= this.#boundary);
    return this.#pending.splice(0, batchLength(this.#pending, belongs));
  }

  #store(batch: readonly StoredMessage[]): string | null {
    const full = this.#options.disk.refusal();
    if (full !== null) return full;
    if (this.#failure && this.#options.now() < this.#failure.until) return this.#failure.reason;
    try {
      this.#write(batch);
      this.#failure = null;
      return null;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #write(batch: readonly StoredMessage[]): void {
    const [first] = batch;
    if (first === undefined) return;
    const segment = this.#segmentFor(first.id);
    if (segment !== null && this.#folder.look(segment, (each) => each.insert(batch)) !== null) return;
    this.#folder.roll(first.id).insert(batch);
  }

  #segmentFor(id: number): Segment | null {
    const { newest } = this.#folder;
    if (newest === null || newest.bytes >= this.#options.segmentBytes || id >= newest.base + this.#span()) return null;
    return newest.base <= this.#boundary && id > this.#boundary ? null : newest;
  }

  #span(): number {
    return this.ttl === 0 ? Number.POSITIVE_INFINITY : (this.ttl * 1_000_000) / SEGMENTS_OF_TTL;
  }

  #nextId(): number {
    this.#lastId = Math.max(Math.floor(this.#options.now() * 1_000), this.#lastKnownId() + 1);
    return this.#lastId;
  }

  #lastKnownId(): number {
    const { newest } = this.#folder;
    this.#lastId ??= newest === null ? 0 : Math.max(newest.base, this.#factsOf(newest)?.last ?? 0);
    return this.#lastId;
  }

  /** Excludes messages older than twice the ttl, because they may be in a file that is about to be deleted. */
  #range(bounds: TimeBounds): { readonly from: number; readonly to: number } {
    const { from, to } = idRange(bounds);
    if (this.ttl === 0) return { from, to };
    return { from: Math.max(from, this.#idOfAge(2 * this.ttl)), to };
  }

  #idOfAge(seconds: number): number {
    return (this.#options.now() - seconds * 1_000) * 1_000;
  }

  #factsOf(segment: Segment): SegmentFacts | null {
    try {
      return this.#folder.look(segment, (each) => each.facts);
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  #failed(error: unknown): string {
    const reason = diskFailure(error);
    if (this.#failure?.reason !== reason) this.#options.onProblem(reason);
    this.#failure = { reason, until: this.#options.now() + RETRY_MS };
    return reason;
  }

  #end(reason: string): void {
    this.#ended = reason;
    this.#options.groupCommit.remove(this);
    const pending = this.#pending;
    this.#pending = [];
    this.pendingBytes = 0;
    for (const { done } of pending) done(reason);
  }
}

const TOO_MANY = 'More messages wait to be stored than memory has room for';
