import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../../platform/errors.ts';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import type { DiskLog, Erased, LogBatch, LogDisk, OpenedLogs, PageOptions, PageRange, Verdict } from '../log-disk.ts';
import type { IdRange, StoredMessage } from '../log-message.ts';
import type { LogPart } from '../log-parts.ts';
import { LogFile } from './log-file.ts';

interface SqliteDiskOptions {
  /** Created with the first message. No other process may use it. */
  readonly path: string;
  /** The file was damaged and set aside, with all that was stored. */
  readonly onDamage: (reason: string) => void;
  /** Whether messages wait while the disk fails, instead of being refused. Default: false. */
  readonly waits?: boolean;
  /** Epoch milliseconds. Default: the system clock. */
  readonly now?: (() => number) | undefined;
}

/** Logs in one SQLite file. Its calls block on the disk, so it belongs in a worker thread. */
export class SqliteDisk implements LogDisk {
  readonly maxBatch = { messages: 1_000, bytes: 512 * 1_024 };
  readonly maxErased = { messages: 500, bytes: 512 * 1_024 };
  readonly erasesExpired = true;
  readonly now: () => number;
  readonly #options: SqliteDiskOptions;
  #file: LogFile | null = null;

  constructor(options: SqliteDiskOptions) {
    this.#options = options;
    this.now = options.now ?? Date.now;
  }

  open(group: string): OpenedLogs {
    const owner = { group, key: group, name: randomUUID(), turn: 1, isTaken: false };
    return { owner, logs: this.#read((file) => file.logs(), []) };
  }

  write(batches: readonly LogBatch[]): void {
    this.#use((file) => file.write(batches));
  }

  judge(error: unknown): Verdict {
    // Another file takes the messages.
    if (isDamage(error) && this.#file === null) return { verdict: 'AGAIN', reason: messageOf(error) };
    return { verdict: this.#options.waits ? 'WAIT' : 'FAIL', reason: `The disk failed: ${messageOf(error)}` };
  }

  page(log: DiskLog, range: PageRange, options: PageOptions): readonly StoredMessage[] {
    return this.#read((file) => file.page(log, range, options), []);
  }

  count(log: DiskLog, part: LogPart, range: IdRange): number {
    return this.#read((file) => file.count(log, part, range), 0);
  }

  erase(log: DiskLog, part: LogPart, range: IdRange, limit: number): Erased {
    return this.#read((file) => file.erase(log, part, range, limit), { messages: 0, left: null });
  }

  keepTtl(log: DiskLog): void {
    if (log.number !== null) this.#read((file) => file.setTtl(log), undefined);
  }

  release(log: DiskLog): void {
    if (log.number !== null) this.#read((file) => file.release(log), undefined);
  }

  drop(log: DiskLog): void {
    if (log.number !== null) this.#read((file) => file.drop(log), undefined);
  }

  shrink(): boolean {
    return this.#read((file) => file.shrink(), true);
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }

  /** `otherwise`: the result if there is no file, or it is damaged. */
  #read<T>(work: (file: LogFile) => T, otherwise: T): T {
    if (this.#file === null && !existsSync(this.#options.path)) return otherwise;
    try {
      return this.#use(work);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return otherwise;
    }
  }

  /** Sets a damaged file aside. */
  #use<T>(work: (file: LogFile) => T): T {
    const { path, onDamage } = this.#options;
    try {
      if (this.#file === null) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      this.#file ??= new LogFile(path);
      return work(this.#file);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.close();
      setAside(path);
      onDamage(`${path} is damaged and was set aside: ${messageOf(error)}`);
      throw error;
    }
  }
}
