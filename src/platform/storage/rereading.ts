import { ANYTHING, type ChangeListener } from './changes.ts';
import type { StorageLog } from './storage-log.ts';

/** If more ids wait, everything is read instead. */
const MAX_WAITING = 1_000;

/** Rows for which `isOutdated` then returns true must be ignored. */
type Read = (id: string, isOutdated: (id: string) => boolean) => Promise<void>;

/**
 * Updates a cache: reads announced changes from the database, one at a time, so that an older result cannot overwrite a
 * newer one. Rows that this process writes during a read are newer than its result.
 */
export class Rereading {
  readonly #log: StorageLog;
  readonly #read: Read;
  readonly #waiting = new Set<string>();
  readonly #written = new Set<string>();
  #reading: Promise<void> | null = null;

  constructor(log: StorageLog, read: Read) {
    this.#log = log;
    this.#read = read;
  }

  readonly listener: ChangeListener = (id) => {
    if (this.#waiting.has(ANYTHING)) return;
    if (id === ANYTHING || this.#waiting.size >= MAX_WAITING) {
      this.#waiting.clear();
      this.#waiting.add(ANYTHING);
    } else this.#waiting.add(id);
    this.#reading ??= this.#readAll();
  };

  /** Called when this process has written or deleted the row `id` and updated the cache. */
  written(id: string): void {
    if (this.#reading !== null) this.#written.add(id);
  }

  async settled(): Promise<void> {
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      this.#written.clear();
      try {
        await this.#read(id, (other) => this.#written.has(other));
      } catch (error) {
        this.#log.error({ err: error, id }, 'Reading a changed row failed');
      }
    }
    this.#written.clear();
    this.#reading = null;
  }
}
