import { type IdRange, SEGMENTS_OF_TTL } from '../message-store.ts';
import { partitionOf, widthOf } from './message-partitions.ts';

/** Part of the messages of a stream: of one period, in one partition. Ids are epoch microseconds. */
export interface StoredSegment {
  /** The id of its first message. */
  readonly base: number;
  /** How long its partition is, in seconds; see widthOf. */
  readonly width: number;
  messages: number;
  bytes: number;
  /** Meaningless if there are no messages. */
  first: number;
  last: number;
  /** Messages that are not written yet. */
  waiting: number;
}

/** Bounded, because counting within bounds reads the segment at each end, and deleting takes one transaction each. */
const MAX_BYTES = 32 * 1_048_576;

/** The segments of one stream, in order of their ids. */
export class StoredSegments {
  #all: StoredSegment[];
  /** The segment that new messages belong to. Its bytes include those that are not stored yet. */
  #current: { readonly segment: StoredSegment; bytes: number } | null = null;
  lastId: number;

  /** `lastId`: of the last message ever stored, which may be deleted. */
  constructor(all: readonly StoredSegment[], lastId: number) {
    this.#all = all.toSorted((one, other) => one.base - other.base);
    this.lastId = all.reduce((max, { last }) => Math.max(max, last), lastId);
  }

  get bytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get messages(): number {
    return this.#all.reduce((sum, { messages }) => sum + messages, 0);
  }

  get oldest(): number | null {
    return this.#all.find(({ messages }) => messages > 0)?.first ?? null;
  }

  get newest(): number | null {
    return this.#all.findLast(({ messages }) => messages > 0)?.last ?? null;
  }

  /** The segment of a new message with this id, which is higher than all others. */
  next(id: number, bytes: number, ttl: number): StoredSegment {
    this.lastId = id;
    const width = widthOf(ttl);
    const span = ttl === 0 ? Number.POSITIVE_INFINITY : (ttl * 1_000_000) / SEGMENTS_OF_TTL;
    const current = this.#current;
    const isSame =
      current !== null &&
      current.bytes < MAX_BYTES &&
      current.segment.width === width &&
      id < current.segment.base + span &&
      partitionOf(width, id).from === partitionOf(width, current.segment.base).from;
    if (isSame) {
      current.bytes += bytes;
      current.segment.waiting += 1;
      return current.segment;
    }
    const segment = { base: id, width, messages: 0, bytes: 0, first: id, last: id, waiting: 1 };
    this.#current = { segment, bytes };
    this.#all.push(segment);
    return segment;
  }

  /** Later messages belong to another segment than earlier ones. */
  endCurrent(): void {
    this.#current = null;
  }

  within({ from, to }: IdRange): StoredSegment[] {
    return this.#all.filter(({ messages, first, last }) => messages > 0 && first <= to && last >= from);
  }

  remove(segment: StoredSegment): void {
    this.#all = this.#all.filter((each) => each !== segment);
  }

  /** Removes the segments whose messages all have lower ids and are written, and returns their bytes. */
  removeBefore(id: number): number {
    const isOld = ({ last, waiting }: StoredSegment) => last < id && waiting === 0;
    const old = this.#all.filter(isOld);
    if (old.length === 0) return 0;
    this.#all = this.#all.filter((each) => !isOld(each));
    if (this.#current !== null && isOld(this.#current.segment)) this.endCurrent();
    return old.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
