import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { reasonOf } from '../../../platform/storage/message-files/batch.ts';
import { DAMAGED, sizeOf, WAL } from '../../../platform/storage/message-files/durable-file.ts';
import { Segment, type SegmentParts, segmentBase } from './segment.ts';
import { syncFolder, UNFINISHED } from './segment-file.ts';

export const REMOVED = '.removed';
/** File with the ttl in seconds, so that messages expire after a restart even if their stream is not opened. */
const TTL_FILE = 'ttl';

interface SegmentFolderOptions extends SegmentParts {
  readonly path: string;
  readonly onDamage: (reason: string) => void;
}

interface SetAside {
  readonly path: string;
  readonly bytes: number;
  readonly changedAt: number;
}

export class SegmentFolder {
  readonly #options: SegmentFolderOptions;
  segments: Segment[] = [];
  #setAside: SetAside[] = [];
  ttl: number | null = null;

  constructor(options: SegmentFolderOptions) {
    this.#options = options;
  }

  load(): void {
    const { path } = this.#options;
    const bases: number[] = [];
    const names = new Set(readdirSync(path));
    for (const name of names) {
      const base = segmentBase(name);
      if (base !== null) bases.push(base);
      else if (name.endsWith(UNFINISHED) || isOrphan(name, names)) rmSync(join(path, name), { force: true });
      else if (name.endsWith(DAMAGED)) this.#keepAside(join(path, name));
      else if (name === TTL_FILE) this.ttl = Number(readFileSync(join(path, name), 'utf8')) || 0;
    }
    this.segments = bases.sort((a, b) => a - b).map((base) => new Segment(path, base, this.#options));
  }

  keepTtl(seconds: number): void {
    if (this.ttl === seconds) return;
    this.ttl = seconds;
    if (existsSync(this.#options.path)) this.#writeTtl();
  }

  get newest(): Segment | null {
    return this.segments.at(-1) ?? null;
  }

  get bytes(): number {
    const segments = this.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#setAside.reduce((sum, { bytes }) => sum + bytes, segments);
  }

  get hasSetAside(): boolean {
    return this.#setAside.length > 0;
  }

  get isEmpty(): boolean {
    return this.segments.length === 0 && !this.hasSetAside;
  }

  roll(base: number): Segment {
    const { path } = this.#options;
    this.newest?.close();
    if (!existsSync(path)) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      syncFolder(dirname(path));
      this.#writeTtl();
    }
    const segment = Segment.create(path, base, this.#options);
    this.segments.push(segment);
    return segment;
  }

  /** Returns an upper bound of the ids in `segment`, without reading the file. */
  endOf(segment: Segment): number {
    if (segment.knownFacts !== null) return segment.knownFacts.last + 1;
    return this.segments[this.segments.indexOf(segment) + 1]?.base ?? Number.POSITIVE_INFINITY;
  }

  within(from: number, to: number): Segment[] {
    return this.segments.filter((segment) => segment.base <= to && this.endOf(segment) > from);
  }

  /**
   * Returns the result of `work` on a segment, or `null` if the segment is deleted or damaged. A damaged segment is set
   * aside.
   * Errors: those of SQLite if the disk fails.
   */
  look<T>(segment: Segment, work: (segment: Segment) => T): T | null {
    if (segment.isGone) return null;
    try {
      return work(segment);
    } catch (error) {
      if (!segment.isDamagedBy(error)) throw error;
      this.segments = this.segments.filter((each) => each !== segment);
      for (const path of segment.setAside()) this.#keepAside(path);
      this.#options.onDamage(`${segment.path} is damaged and was set aside: ${reasonOf(error)}`);
      return null;
    }
  }

  /** Hides the messages of these segments immediately. `drop` deletes the files. */
  detach(segments: readonly Segment[]): void {
    const gone = new Set(segments);
    this.segments = this.segments.filter((segment) => !gone.has(segment));
  }

  drop(segment: Segment): void {
    this.detach([segment]);
    segment.drop();
  }

  /** Deletes the damaged files that were last changed before `changedBefore`, in epoch milliseconds. */
  forgetSetAside(changedBefore: number): void {
    const old = this.#setAside.filter(({ changedAt }) => changedAt < changedBefore);
    if (old.length === 0) return;
    this.#setAside = this.#setAside.filter((each) => !old.includes(each));
    for (const { path, bytes } of old) {
      rmSync(path, { force: true });
      this.#options.disk.add(-bytes);
    }
  }

  /** Deletes the folder. It is renamed first, so that its name is free immediately. */
  *removal(): SlicedTask<void> {
    const { path, disk } = this.#options;
    let bytes = this.#setAside.reduce((sum, each) => sum + each.bytes, 0);
    for (const segment of this.segments) bytes += segment.leave();
    this.segments = [];
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
    writeFileSync(`${path}${UNFINISHED}`, String(this.ttl ?? 0), { mode: 0o600 });
    renameSync(`${path}${UNFINISHED}`, path);
  }
}

const isOrphan = (name: string, names: ReadonlySet<string>): boolean =>
  name.endsWith(WAL) && !names.has(name.slice(0, -WAL.length));
