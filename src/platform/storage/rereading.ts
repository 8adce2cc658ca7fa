import { ANYTHING, type ChangeListener } from './changes.ts';
import type { StorageLog } from './storage-log.ts';

/** More announcements than this waiting to be read one by one are read as a whole. */
const MAX_WAITING = 1_000;

/** Reads what is stored of `id`. What `isOutdated` says of an id counts after the reading: then what was read must not be kept. */
export type Read = (id: string, isOutdated: (id: string) => boolean) => Promise<void>;

/**
 * Keeps a cache true: reads again whatever is announced as changed.
 *
 * One reading at a time, so that no older one comes last; what is announced during a reading is read after it, once. What this
 * process wrote during a reading (`written`) is newer than what the reading found; its own announcement has it read again.
 */
export class Rereading {
  readonly #log: StorageLog;
  readonly #read: Read;
  readonly #waiting = new Set<string>();
  readonly #written = new Set<string>();
  #underWay: Promise<void> | null = null;

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
    this.#underWay ??= this.#readAll();
  };

  /** The cache got `id` from a write of its own, or lost it to one. */
  written(id: string): void {
    if (this.#underWay !== null) this.#written.add(id);
  }

  /** Resolves when everything announced until now has been read. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  async #readAll(): Promise<void> {
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      this.#written.clear();
      try {
        await this.#read(id, (other) => this.#written.has(other));
      } catch (error) {
        this.#log.error({ err: error, id }, 'what was changed could not be read again');
      }
    }
    this.#written.clear();
    this.#underWay = null;
  }
}
