import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GroupCommit } from '../../../platform/scheduling/group-commit.ts';
import { runInSlices, runSync, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { reasonOf } from '../../../platform/storage/message-files/batch.ts';
import { DiskUse } from './disk-use.ts';
import type { MessageStore } from './message-store.ts';
import { limitsOfProcess, OpenFiles, segmentsToOpen } from './open-files.ts';
import { REMOVED, SegmentFolder } from './segment-folder.ts';
import { SegmentLog } from './segment-log.ts';

export interface SegmentStoreOptions {
  /** Created if missing. No other process may write there. */
  readonly folder: string;
  /** Maximum disk use in bytes. It may be exceeded by one commit and the WALs of the open files. */
  readonly maxBytes: number;
  /** Called once per disk failure or damaged file. `streamId`: `null` if all streams are affected. */
  readonly onProblem: (streamId: string | null, reason: string) => void;
  /** Epoch milliseconds. Default: the system clock. */
  readonly now?: () => number;
  /** Maximum number of open files of all streams. Default: by the limits of the process, 128 to 1,024. */
  readonly maxOpenFiles?: number;
  /** Size in bytes at which a new segment is started. Default: 32 MiB, or an eighth of `maxBytes` if that is less. */
  readonly segmentBytes?: number;
}

/** Bounded because counting within time bounds scans the segment at each end. */
const MAX_SEGMENT_BYTES = 32 * 1_048_576;
/** Checks for expired segments per shortest ttl. With segments of a quarter ttl, no message reaches twice its ttl. */
const CHECKS_OF_TTL = 8;
const MAX_CHECK_MS = 30_000;
const IDLE_MS = 60_000;

/**
 * The stored messages of the streams of one broker: a folder per stream with a SQLite file per period, see SegmentLog.
 * Its calls block on the disk, so it belongs in a worker thread. Each folder has exactly one owner.
 */
export class SegmentStore implements MessageStore {
  readonly #options: SegmentStoreOptions;
  readonly #logs = new Map<string, SegmentLog>();
  readonly #files: OpenFiles;
  readonly #disk: DiskUse;
  readonly #groupCommit = new GroupCommit();
  #timer: NodeJS.Timeout | null = null;
  #timerMs = 0;
  #expiring: Promise<void> | null = null;
  #closed = false;

  /** Errors: those of the file system if the folder cannot be created or read. */
  constructor(options: SegmentStoreOptions) {
    this.#options = options;
    this.#files = new OpenFiles(options.maxOpenFiles ?? segmentsToOpen(limitsOfProcess()));
    this.#disk = new DiskUse(options.maxBytes);
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    for (const entry of readdirSync(options.folder, { withFileTypes: true })) {
      if (entry.isDirectory()) this.#load(entry.name);
    }
    this.#schedule();
  }

  log(streamId: string): SegmentLog {
    const known = this.#logs.get(streamId);
    if (known) return known;
    const log = this.#make(streamId, this.#folder(streamId));
    if (this.#closed) runSync(log.close());
    else this.#logs.set(streamId, log);
    return log;
  }

  ids(): readonly string[] {
    return [...this.#logs].filter(([, log]) => !log.isEmpty).map(([id]) => id);
  }

  get bytes(): number {
    return this.#disk.bytes;
  }

  get openFiles(): number {
    return this.#files.size;
  }

  async expire(): Promise<void> {
    this.#expiring ??= runInSlices(this.#expiry()).finally(() => {
      this.#expiring = null;
    });
    await this.#expiring;
  }

  /** Resolves when all appended messages are on disk. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#expiring;
    for (const log of this.#logs.values()) await runInSlices(log.close());
    this.#files.closeAll();
  }

  #load(name: string): void {
    const path = join(this.#options.folder, name);
    if (name.endsWith(REMOVED)) rmSync(path, { recursive: true, force: true });
    const streamId = streamIdOf(name);
    if (streamId === null) return;
    const folder = this.#folder(streamId);
    folder.load();
    if (folder.isEmpty) rmSync(path, { recursive: true, force: true });
    else this.#logs.set(streamId, this.#make(streamId, folder));
  }

  #folder(streamId: string): SegmentFolder {
    return new SegmentFolder({
      path: join(this.#options.folder, folderName(streamId)),
      files: this.#files,
      disk: this.#disk,
      onDamage: (reason) => this.#options.onProblem(streamId, reason),
    });
  }

  #make(streamId: string, folder: SegmentFolder): SegmentLog {
    const { maxBytes, now = Date.now } = this.#options;
    const log: SegmentLog = new SegmentLog({
      folder,
      disk: this.#disk,
      groupCommit: this.#groupCommit,
      segmentBytes: this.#options.segmentBytes ?? Math.min(MAX_SEGMENT_BYTES, maxBytes / 8),
      now,
      onProblem: (reason) => this.#options.onProblem(streamId, reason),
      onTtl: (seconds) => {
        if (seconds > 0 && (seconds * 1_000) / CHECKS_OF_TTL < this.#timerMs) this.#schedule();
      },
      onRemove: () => {
        if (this.#logs.get(streamId) === log) this.#logs.delete(streamId);
      },
    });
    return log;
  }

  *#expiry(): SlicedTask<void> {
    for (const [streamId, log] of [...this.#logs]) {
      if (!log.mayHaveExpired) continue;
      try {
        yield* log.expiry();
        yield;
      } catch (error) {
        this.#options.onProblem(streamId, `Expired messages could not be erased: ${reasonOf(error)}`);
      }
    }
    try {
      this.#files.closeIdle(IDLE_MS);
    } catch (error) {
      this.#options.onProblem(null, `Files could not be closed: ${reasonOf(error)}`);
    }
  }

  /** Schedules one timer for all streams; the shortest ttl sets its interval. */
  #schedule(): void {
    let ms = MAX_CHECK_MS;
    for (const { ttl } of this.#logs.values()) if (ttl > 0) ms = Math.min(ms, (ttl * 1_000) / CHECKS_OF_TTL);
    if (this.#closed || (this.#timer !== null && this.#timerMs <= ms)) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.expire().then(() => this.#schedule());
    }, ms).unref();
  }
}

/** The id itself if it is a safe folder name. Other ids are encoded in hexadecimal. */
function folderName(streamId: string): string {
  return /^[a-z0-9_-]{1,100}$/.test(streamId) ? streamId : `~${Buffer.from(streamId).toString('hex')}`;
}

function streamIdOf(name: string): string | null {
  if (/^~(?:[0-9a-f]{2})+$/.test(name)) return Buffer.from(name.slice(1), 'hex').toString();
  return /^[a-z0-9_-]{1,100}$/.test(name) ? name : null;
}
