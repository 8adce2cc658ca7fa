import { setImmediate } from 'node:timers/promises';
import type { LogReader } from '../shared-log.ts';
import { decodeBatch, decodeHead } from './batch-codec.ts';
import { type LogCourse, readRecord } from './log-course.ts';
import { endOf } from './log-membership.ts';
import { LogEnded } from './log-options.ts';
import type { OwnBatch, OwnBatches } from './own-batches.ts';
import { MOST_BLOCK_MS, type RawReply, type RedisLink } from './redis-link.ts';

const FIRST_RECORDS = 16;
const MOST_RECORDS = 256;
/** A reply may have more: then less is asked for next. */
const REPLY_BYTES = 4 * 1_048_576;
/** Without others of this process having their turn. */
const SLICE_MS = 10;

export interface ReadingParts {
  readonly run: string;
  /** Position of the record that made it part of the log. */
  readonly joinedAt: string;
  readonly course: LogCourse;
  readonly own: OwnBatches;
  readonly reader: LogReader;
  /** A node that begins wants what all have in common, as it is now; nothing is read meanwhile. */
  readonly give: (link: RedisLink, request: string) => Promise<void>;
}

/** Reads the log from where the course is, and applies it. */
export class LogReading {
  readonly #parts: ReadingParts;
  #count = FIRST_RECORDS;
  /** Applied, and not told as reached. */
  #fresh: OwnBatch[] = [];
  #hasFresh = false;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  /** Until the link is lost (resolves), or this node cannot go on (rejects with a LogEnded). */
  async follow(link: RedisLink): Promise<void> {
    while (link.isUp) {
      let reply: RawReply;
      try {
        reply = await this.#read(link);
      } catch (error) {
        link.fail(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      await this.#takeAll(link, recordsOf(reply));
    }
  }

  #read(link: RedisLink): Promise<RawReply> {
    const { position } = this.#parts.course;
    const count = String(this.#count);
    return link.read('XREAD', 'COUNT', count, 'BLOCK', String(MOST_BLOCK_MS), 'STREAMS', link.keys.log, position);
  }

  async #takeAll(link: RedisLink, records: readonly StreamRecord[]): Promise<void> {
    let bytes = 0;
    let sliceEnd = performance.now() + SLICE_MS;
    for (const { position, name, value } of records) {
      if (!link.isUp) break;
      bytes += value.length;
      const wanted = name === 'b' ? this.#batch(position, value) : this.#record(position, value);
      if (wanted === undefined && performance.now() < sliceEnd) continue;
      this.#reached();
      await (wanted === undefined ? setImmediate() : this.#parts.give(link, wanted));
      sliceEnd = performance.now() + SLICE_MS;
    }
    this.#reached();
    const isMuch = bytes > REPLY_BYTES;
    this.#count = Math.max(1, Math.min(MOST_RECORDS, isMuch ? Math.floor(this.#count / 4) : this.#count * 2));
  }

  #batch(position: string, value: Buffer): undefined {
    const { run, course, own, reader } = this.#parts;
    const head = readable(position, () => decodeHead(value));
    const origin = course.batch(position, head.nodeId, head.run, head.number);
    if (head.run !== run) {
      for (const entry of readable(position, () => decodeBatch(value)).entries) reader.apply(entry, origin);
    } else {
      const batch = own.sent(head.number);
      if (!batch) throw new LogEnded('BROKEN', 'the log has a batch of this node that it has not sent');
      for (const { entry } of batch.entries) reader.apply(entry, origin);
      this.#fresh.push(batch);
    }
    this.#hasFresh = true;
  }

  /** The snapshot that is wanted, if one is. */
  #record(position: string, value: Buffer): string | undefined {
    const { run, joinedAt, course, reader } = this.#parts;
    const record = readable(position, () => readRecord(value.toString()));
    course.record(position, record);
    this.#hasFresh = true;
    if (record.type === 'joined') return record.wanted;
    if (record.type === 'lost') {
      if (record.run === run) throw endOf(record.isTaken ? 'TAKEN' : 'LOST');
      reader.lost(record.nodeId, record.run, record.at, course.isFirst || course.isAloneBefore(joinedAt));
    }
    return undefined;
  }

  #reached(): void {
    if (!this.#hasFresh) return;
    this.#hasFresh = false;
    const { course, reader, own } = this.#parts;
    reader.reached(course.place);
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const batch of fresh) own.done(batch);
  }
}

interface StreamRecord {
  readonly position: string;
  readonly name: string;
  readonly value: Buffer;
}

/** `[[stream, [[id, [name, value, …]], …]]]`, or null when nothing came. */
function recordsOf(reply: RawReply): StreamRecord[] {
  const records = part(part(reply, 0), 1);
  if (!Array.isArray(records)) return [];
  return records.map((record) => {
    const name = part(part(record, 1), 0);
    const value = part(part(record, 1), 1);
    if (!Buffer.isBuffer(value))
      throw new LogEnded('BROKEN', `the log has a record without a value at ${part(record, 0)}`);
    return { position: String(part(record, 0)), name: String(name), value };
  });
}

function part(reply: RawReply | undefined, index: number): RawReply | undefined {
  return Array.isArray(reply) ? reply[index] : undefined;
}

function readable<Value>(position: string, decode: () => Value): Value {
  try {
    return decode();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LogEnded('BROKEN', `what the log has at ${position} cannot be read: ${reason}`);
  }
}
