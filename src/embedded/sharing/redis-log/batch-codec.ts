import type { LogEntry } from '../shared-log.ts';

/**
 * A batch of entries as bytes; lengths and numbers are big-endian:
 *
 *   version (1) | node (4) | length of run (1) | run | number (6) | entries (4) | each entry
 *   entry: length of kind (1) | kind | length of about (4) | about as JSON | payload: 0, or 1 (bytes) or 2 (text), length (4), payload
 */
const VERSION = 1;
const MOST_KIND_BYTES = 255;
/** More than the largest MQTT packet, less than what Redis takes as one value (512 MB). */
const MOST_ENTRY_BYTES = 384 * 1_048_576;

const NO_PAYLOAD = 0;
const BYTES = 1;
const TEXT = 2;

/** An entry whose `about` is text already. */
export interface WrittenEntry {
  readonly entry: LogEntry;
  readonly about: string;
  /** What it takes in a batch. */
  readonly bytes: number;
}

export interface BatchHead {
  readonly nodeId: number;
  readonly run: string;
  /** 1 for the first one of a run. */
  readonly number: number;
}

export interface Batch extends BatchHead {
  readonly entries: readonly LogEntry[];
}

/** Throws a RangeError for an entry that is too large. */
export function writeEntry(entry: LogEntry): WrittenEntry {
  const about = JSON.stringify(entry.about);
  const kindBytes = Buffer.byteLength(entry.kind);
  const bytes = 6 + kindBytes + Buffer.byteLength(about) + payloadBytes(entry.payload);
  if (kindBytes > MOST_KIND_BYTES) throw new RangeError(`the kind of an entry has ${kindBytes} bytes`);
  if (bytes > MOST_ENTRY_BYTES) throw new RangeError(`an entry of ${bytes} bytes is more than a log takes`);
  return { entry, about, bytes };
}

function payloadBytes(payload: LogEntry['payload']): number {
  if (payload === undefined) return 0;
  return 4 + (typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength);
}

export function encodeBatch({ nodeId, run, number }: BatchHead, entries: readonly WrittenEntry[]): Buffer {
  let size = 16 + run.length;
  for (const { bytes } of entries) size += bytes;
  const batch = Buffer.allocUnsafe(size);
  let at = batch.writeUInt8(VERSION, 0);
  at = batch.writeUInt32BE(nodeId, at);
  at = batch.writeUInt8(run.length, at);
  at += batch.write(run, at, 'latin1');
  at = batch.writeUIntBE(number, at, 6);
  at = batch.writeUInt32BE(entries.length, at);
  for (const written of entries) at = putEntry(batch, at, written);
  return batch;
}

function putEntry(batch: Buffer, from: number, { entry: { kind, payload }, about }: WrittenEntry): number {
  const kindBytes = batch.write(kind, from + 1);
  let at = batch.writeUInt8(kindBytes, from) + kindBytes;
  const aboutBytes = batch.write(about, at + 4);
  at = batch.writeUInt32BE(aboutBytes, at) + aboutBytes;
  if (payload === undefined) return batch.writeUInt8(NO_PAYLOAD, at);
  if (typeof payload === 'string') {
    at = batch.writeUInt8(TEXT, at);
    const written = batch.write(payload, at + 4);
    return batch.writeUInt32BE(written, at) + written;
  }
  at = batch.writeUInt8(BYTES, at);
  at = batch.writeUInt32BE(payload.byteLength, at);
  batch.set(payload, at);
  return at + payload.byteLength;
}

/** What is before the entries: enough for a node that has them already. Throws a RangeError for what is no batch of this version. */
export function decodeHead(batch: Buffer): BatchHead {
  return new BatchCursor(batch).head();
}

/** Payloads share memory with the batch. Throws a RangeError or a SyntaxError for what is no batch of this version. */
export function decodeBatch(batch: Buffer): Batch {
  const cursor = new BatchCursor(batch);
  const head = cursor.head();
  const count = cursor.number(4);
  const entries: LogEntry[] = [];
  for (let left = count; left > 0; left--) entries.push(cursor.entry());
  cursor.end();
  return { ...head, entries };
}

/** Goes through a batch; every step checks that there is as much as it takes. */
class BatchCursor {
  readonly #batch: Buffer;
  #at = 0;

  constructor(batch: Buffer) {
    this.#batch = batch;
  }

  head(): BatchHead {
    const version = this.number(1);
    if (version !== VERSION) throw new RangeError(`a batch of version ${version}`);
    const nodeId = this.number(4);
    const run = this.#slice(this.number(1)).toString('latin1');
    return { nodeId, run, number: this.number(6) };
  }

  entry(): LogEntry {
    const kind = this.#slice(this.number(1)).toString();
    const about: unknown = JSON.parse(this.#slice(this.number(4)).toString());
    if (typeof about !== 'object' || about === null) throw new RangeError('an entry about nothing');
    const payloadKind = this.number(1);
    if (payloadKind === NO_PAYLOAD) return { kind, about };
    if (payloadKind > TEXT) throw new RangeError(`an entry with a payload of kind ${payloadKind}`);
    const payload = this.#slice(this.number(4));
    return { kind, about, payload: payloadKind === TEXT ? payload.toString() : payload };
  }

  number(bytes: number): number {
    this.#check(bytes);
    const value = this.#batch.readUIntBE(this.#at, bytes);
    this.#at += bytes;
    return value;
  }

  end(): void {
    if (this.#at !== this.#batch.length) throw new RangeError('a batch that is longer than its entries');
  }

  #slice(bytes: number): Buffer {
    this.#check(bytes);
    const slice = this.#batch.subarray(this.#at, this.#at + bytes);
    this.#at += bytes;
    return slice;
  }

  #check(bytes: number): void {
    if (this.#at + bytes > this.#batch.length) throw new RangeError('a batch that is cut off');
  }
}
