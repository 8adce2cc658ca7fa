import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { DAMAGED, Segment, type SegmentParts, segmentBase, sizeOf, WAL } from './segment.ts';
import { syncFolder, UNFINISHED } from './segment-file.ts';

/** Ends the name of a folder whose stream was removed. */
export const REMOVED = '.removed';
/** Seconds, so that messages expire also where nobody asks for their stream after a start. */
const TTL_FILE = 'ttl';

export interface SegmentFolderOptions extends SegmentParts {
  readonly path: string;
  /** A segment was set aside. */
  readonly onDamage: (reason: string) => void;
}

interface SetAside {
  readonly path: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly changedAt: number;
}

/** The segments of one stream, the newest last. Its folder is made with the first of them. */
export class SegmentFolder {
  readonly #options: SegmentFolderOptions;
  #segments: Segment[] = [];
  #setAside: SetAside[] = [];
  #ttl: number | null = null;

  constructor(options: SegmentFolderOptions) {
    this.#options = options;
  }

  /** What a former process left. */
  load(): void {
    const { path } = this.#options;
    const bases: number[] = [];
    const names = new Set(readdirSync(path));
    for (const name of names) {
      const base = segmentBase(name);
      if (base !== null) bases.push(base);
      else if (name.endsWith(UNFINISHED) || isOrphan(name, names)) rmSync(join(path, name), { force: true });
      else if (name.endsWith(DAMAGED)) this.#keepAside(join(path, name));
      else if (name === TTL_FILE) this.#ttl = Number(readFileSync(join(path, name), 'utf8')) || 0;
    }
    this.#segments = bases.sort((a, b) => a - b).map((base) => new Segment(path, base, this.#options));
  }

  /** Null: none was kept. */
  get ttl(): number | null {
    return this.#ttl;
  }

  keepTtl(seconds: number): void {
    if (this.#ttl === seconds) return;
    this.#ttl = seconds;
    if (existsSync(this.#options.path)) this.#writeTtl();
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  get newest(): Segment | null {
    return this.#segments.at(-1) ?? null;
  }

  get bytes(): number {
    const segments = this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#setAside.reduce((sum, { bytes }) => sum + bytes, segments);
  }

  get hasSetAside(): boolean {
    return this.#setAside.length > 0;
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0 && !this.hasSetAside;
  }

  /** What comes from now on goes into a file of its own. */
  roll(base: number): Segment {
    const { path } = this.#options;
    this.newest?.close();
    if (!existsSync(path)) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      syncFolder(dirname(path));
      this.#writeTtl();
    }
    const segment = Segment.create(path, base, this.#options);
    this.#segments.push(segment);
    return segment;
  }

  /** Above all ids in `segment`, as far as it is known without a look into the file. */
  endOf(segment: Segment): number {
    if (segment.knownFacts !== null) return segment.knownFacts.last + 1;
    return this.#segments[this.#segments.indexOf(segment) + 1]?.base ?? Number.POSITIVE_INFINITY;
  }

  /** Those that may hold messages in the range. */
  within(from: number, to: number): Segment[] {
    return this.#segments.filter((segment) => segment.base <= to && this.endOf(segment) > from);
  }

  /**
   * What `work` answers of a segment; null when it is gone, or damaged and set aside now.
   * Errors: those of SQLite when the disk does not answer.
   */
  look<T>(segment: Segment, work: (segment: Segment) => T): T | null {
    if (segment.isGone) return null;
    try {
      return work(segment);
    } catch (error) {
      if (!segment.isDamagedBy(error)) throw error;
      this.#segments = this.#segments.filter((each) => each !== segment);
      for (const path of segment.setAside()) this.#keepAside(path);
      this.#options.onDamage(`${segment.path} is damaged and was set aside: ${reasonOf(error)}`);
      return null;
    }
  }

  /** Nobody sees its messages any more, from the call on; the file goes with `drop`. */
  detach(segments: readonly Segment[]): void {
    const gone = new Set(segments);
    this.#segments = this.#segments.filter((segment) => !gone.has(segment));
  }

  drop(segment: Segment): void {
    this.detach([segment]);
    segment.drop();
  }

  /** Erases what was set aside and has not changed since, in epoch milliseconds. */
  forgetSetAside(changedBefore: number): void {
    const old = this.#setAside.filter(({ changedAt }) => changedAt < changedBefore);
    if (old.length === 0) return;
    this.#setAside = this.#setAside.filter((each) => !old.includes(each));
    for (const { path, bytes } of old) {
      rmSync(path, { force: true });
      this.#options.disk.add(-bytes);
    }
  }

  /** With all that is in it. Its name is free at once. */
  *removal(): SlicedTask<void> {
    const { path, disk } = this.#options;
    let bytes = this.#setAside.reduce((sum, each) => sum + each.bytes, 0);
    for (const segment of this.#segments) bytes += segment.leave();
    this.#segments = [];
    this.#setAside = [];
    if (!existsSync(path)) return;
    const removed = `${path}-${Date.now()}${REMOVED}`;
    renameSync(path, removed);
    for (const name of readdirSync(removed)) {
      rmSync(join(removed, name), { force: true });
      yield;
    }
    rmSync(removed, { recursive: true, force: true });
    disk.add(-bytes);
  }

  #keepAside(path: string): void {
    const bytes = sizeOf(path);
    this.#setAside.push({ path, bytes, changedAt: statSync(path).mtimeMs });
    this.#options.disk.add(bytes);
  }

  #writeTtl(): void {
    const path = join(this.#options.path, TTL_FILE);
    writeFileSync(`${path}${UNFINISHED}`, String(this.#ttl ?? 0), { mode: 0o600 });
    renameSync(`${path}${UNFINISHED}`, path);
  }
}

/** The WAL of a segment that was being dropped. */
const isOrphan = (name: string, names: ReadonlySet<string>): boolean =>
  name.endsWith(WAL) && !names.has(name.slice(0, -WAL.length));

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
