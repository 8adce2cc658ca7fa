import { Backoff, type BackoffTimes } from '../../scheduling/backoff.ts';
import type { StorageLog } from '../storage-log.ts';
import { ANYTHING, type ChangeListener } from './changes.ts';

/** If more ids wait, everything is read instead. */
const MAX_WAITING = 1_000;
const BACKOFF: BackoffTimes = { firstMs: 500, longestMs: 10_000 };

/** Rows for which `isOutdated` then returns true must be ignored. */
type Read = (id: string, isOutdated: (id: string) => boolean) => Promise<void>;

/**
 * Reads announced changes from the database, one at a time, so that an older result cannot overwrite a newer one. Rows
 * that this process writes during a read are newer than its result. Failed reads are retried after a
 * backoff, because nothing else may announce the change again.
 */
export class Rereading {
  readonly #log: StorageLog;
  readonly #read: Read;
  readonly #waiting = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #written = new Set<string>();
  #reading: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  readonly #backoff = new Backoff(BACKOFF);
  #isClosed = false;

  constructor(log: StorageLog, read: Read) {
    this.#log = log;
    this.#read = read;
  }

  /** Reads everything, before changes that are announced meanwhile. Errors: those of the read. */
  async load(): Promise<void> {
    while (this.#reading !== null) await this.#reading;
    const loading = this.#read(ANYTHING, (id) => this.#written.has(id));
    this.#reading = loading.catch(() => undefined).then(() => this.#readAll());
    await loading;
  }

  readonly listener: ChangeListener = (id) => {
    addTo(this.#waiting, id);
    this.#reading ??= this.#readAll();
  };

  /** Called when this process has written or deleted the row `id` and updated the cache. */
  written(id: string): void {
    if (this.#reading !== null) this.#written.add(id);
  }

  /** Waits for the announced reads. Failed ones are retried later. */
  async settled(): Promise<void> {
    await this.#reading;
  }

  /** Waits for the announced reads. Failed ones are not retried. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      this.#written.clear();
      try {
        await this.#read(id, (other) => this.#written.has(other));
        if (id === ANYTHING) this.#failed.clear();
        else this.#failed.delete(id);
      } catch (error) {
        addTo(this.#failed, id);
        this.#log.warn({ err: error, id }, 'Reading a changed row failed');
      }
    }
    this.#written.clear();
    this.#reading = null;
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#failed.size === 0) this.#backoff.reset();
    // An existing timer stays, so that frequent announcements of other rows do not postpone it.
    if (this.#failed.size === 0 || this.#retry !== null || this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      for (const id of this.#failed) this.listener(id);
    }, this.#backoff.next()).unref();
  }
}

function addTo(ids: Set<string>, id: string): void {
  if (ids.has(ANYTHING)) return;
  if (id === ANYTHING || ids.size >= MAX_WAITING) {
    ids.clear();
    ids.add(ANYTHING);
  } else ids.add(id);
}
