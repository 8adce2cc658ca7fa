import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDamage } from '../../../platform/storage/sqlite-damage.ts';
import type { DiskUse } from './disk-use.ts';
import type { StoredMessage } from './message-store.ts';
import type { OpenFiles } from './open-files.ts';
import { createSegmentFile, type SegmentFacts, type SegmentFile } from './segment-file.ts';

/** What all segments of a store share. */
export interface SegmentParts {
  readonly files: OpenFiles;
  readonly disk: DiskUse;
}

const ENDING = '.sqlite';
export const WAL = '-wal';
/** Ends the name of what was set aside: nothing reads it any more, but a person may. */
export const DAMAGED = '.damaged';

/** `base` of the segment with this file name; null: it is none. */
export function segmentBase(name: string): number | null {
  const base = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : '';
  return /^\d{1,16}$/.test(base) ? Number(base) : null;
}

/**
 * Messages of one stream from one stretch of time, in a file whose name tells the first of them. What it holds is known from its file
 * when it is first asked for, and kept up to date here from then on.
 */
export class Segment {
  /** No message in it, nor in those after it, has an id below. */
  readonly base: number;
  readonly path: string;
  readonly #parts: SegmentParts;
  #facts: SegmentFacts | null = null;
  #bytes = 0;
  #gone = false;

  constructor(folder: string, base: number, parts: SegmentParts) {
    this.base = base;
    this.path = join(folder, `${base}${ENDING}`);
    this.#parts = parts;
    this.#measure();
  }

  /** Its folder must be there. */
  static create(folder: string, base: number, parts: SegmentParts): Segment {
    createSegmentFile(join(folder, `${base}${ENDING}`));
    const segment = new Segment(folder, base, parts);
    segment.#facts = { first: base, last: base, messages: 0 };
    return segment;
  }

  /** On disk, with its WAL. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It was dropped or set aside. */
  get isGone(): boolean {
    return this.#gone;
  }

  get facts(): SegmentFacts {
    this.#facts ??= this.#file().facts();
    return this.#facts;
  }

  /** Null: nobody has asked yet. */
  get knownFacts(): SegmentFacts | null {
    return this.#facts;
  }

  /** To look something up in it. */
  get file(): SegmentFile {
    return this.#file();
  }

  /** All or none of them; their ids are above all that are in it. */
  insert(batch: readonly StoredMessage[]): true {
    const { first, messages } = this.facts;
    const [oldest, newest] = [batch[0]?.id ?? 0, batch.at(-1)?.id ?? 0];
    const facts = { first: messages === 0 ? oldest : first, last: newest, messages: messages + batch.length };
    this.change((file) => file.insert(batch), facts);
    return true;
  }

  /** For what changes it: what it holds and what it takes are known afterwards, also where the work failed. */
  change<T>(work: (file: SegmentFile) => T, facts?: SegmentFacts): T {
    try {
      const result = work(this.#file());
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

  /** Its messages are gone. */
  drop(): void {
    const bytes = this.leave();
    for (const path of this.#paths()) rmSync(path, { force: true });
    this.#parts.disk.add(-bytes);
  }

  /** Its messages are lost to the stream; answers the files as they are called now. */
  setAside(): string[] {
    const bytes = this.leave();
    const present = this.#paths().filter((path) => existsSync(path));
    for (const path of present) renameSync(path, `${path}${DAMAGED}`);
    this.#parts.disk.add(-bytes);
    return present.map((path) => `${path}${DAMAGED}`);
  }

  /** Its files are somebody else's from now on; answers what they take on disk. */
  leave(): number {
    try {
      this.close();
    } finally {
      this.#gone = true;
    }
    return this.#bytes;
  }

  isDamagedBy(error: unknown): boolean {
    return isDamage(error) || !existsSync(this.path);
  }

  #file(): SegmentFile {
    return this.#parts.files.use(this.path, () => this.#measure());
  }

  #measure(): void {
    if (this.#gone) return;
    const bytes = this.#paths().reduce((sum, path) => sum + sizeOf(path), 0);
    this.#parts.disk.add(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  #paths(): readonly string[] {
    return [this.path, `${this.path}${WAL}`];
  }
}

export const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
