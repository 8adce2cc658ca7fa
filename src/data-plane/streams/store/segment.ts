import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  durableBytes,
  isDamage,
  removeDurableFile,
  setAside,
} from '../../../platform/storage/message-files/durable-file.ts';
import type { DiskUse } from './disk-use.ts';
import type { StoredMessage } from './message-store.ts';
import type { OpenFiles } from './open-files.ts';
import { createSegmentFile, type SegmentFacts, type SegmentFile } from './segment-file.ts';

export interface SegmentParts {
  readonly files: OpenFiles;
  readonly disk: DiskUse;
}

const ENDING = '.sqlite';

/** Returns the `base` of the segment with this file name, or `null` if it is not a segment file. */
export function segmentBase(name: string): number | null {
  const base = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : '';
  return /^\d{1,16}$/.test(base) ? Number(base) : null;
}

/**
 * The messages of one stream from one period, in a file that is named after its first message id. The facts are read
 * from the file on first use and then updated in memory.
 */
export class Segment {
  /** Lower bound of all message ids in this segment and in later ones. */
  readonly base: number;
  readonly path: string;
  readonly #parts: SegmentParts;
  #facts: SegmentFacts | null = null;
  bytes = 0;
  isGone = false;

  constructor(folder: string, base: number, parts: SegmentParts) {
    this.base = base;
    this.path = join(folder, `${base}${ENDING}`);
    this.#parts = parts;
    this.#measure();
  }

  static create(folder: string, base: number, parts: SegmentParts): Segment {
    createSegmentFile(join(folder, `${base}${ENDING}`));
    const segment = new Segment(folder, base, parts);
    segment.#facts = { first: base, last: base, messages: 0 };
    return segment;
  }

  get facts(): SegmentFacts {
    this.#facts ??= this.file.facts();
    return this.#facts;
  }

  /** The facts without reading the file. `null` if they were not read yet. */
  get knownFacts(): SegmentFacts | null {
    return this.#facts;
  }

  get file(): SegmentFile {
    return this.#parts.files.use(this.path, () => this.#measure());
  }

  /** Inserts all messages or none. Their ids must be above all existing ids. */
  insert(batch: readonly StoredMessage[]): true {
    const { first, messages } = this.facts;
    const [oldest, newest] = [batch[0]?.id ?? 0, batch.at(-1)?.id ?? 0];
    const facts = { first: messages === 0 ? oldest : first, last: newest, messages: messages + batch.length };
    this.change((file) => file.insert(batch), facts);
    return true;
  }

  /** Runs a write operation. Facts and size are updated afterwards, also if the operation failed. */
  change<T>(work: (file: SegmentFile) => T, facts?: SegmentFacts): T {
    try {
      const result = work(this.file);
      this.#facts = facts ?? null;
      return result;
    } catch (error) {
      this.#facts = null;
      throw error;
    } finally {
      this.#measure();
    }
  }

  close(): void {
    this.#parts.files.close(this.path);
  }

  drop(): void {
    const bytes = this.leave();
    removeDurableFile(this.path);
    this.#parts.disk.add(-bytes);
  }

  /** Renames the files to `*.damaged` and returns their new paths. The stream loses these messages. */
  setAside(): string[] {
    const bytes = this.leave();
    const paths = setAside(this.path);
    this.#parts.disk.add(-bytes);
    return paths;
  }

  /** Closes the file and stops managing it; the caller deletes or renames it. Returns its bytes on disk. */
  leave(): number {
    try {
      this.close();
    } finally {
      this.isGone = true;
    }
    return this.bytes;
  }

  isDamagedBy(error: unknown): boolean {
    return isDamage(error) || !existsSync(this.path);
  }

  #measure(): void {
    if (this.isGone) return;
    const bytes = durableBytes(this.path);
    this.#parts.disk.add(bytes - this.bytes);
    this.bytes = bytes;
  }
}
