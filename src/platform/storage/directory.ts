import type { Logger } from 'pino';
import { ANYTHING, type ChangeListener, type Changes } from './changes.ts';
import type { StorageLog } from './storage-log.ts';

/** Called after a change. `before` is `null` for an added entry, `after` is `null` for a removed one. */
type DirectoryListener<Entry> = (after: Entry | null, before: Entry | null) => void;

interface DirectoryOptions<Row, Entry> {
  readonly changes: Changes;
  readonly log: Logger;
  readonly kinds: readonly string[];
  /** Reads the rows that an announced id affects; all rows for ANYTHING. */
  readonly rowsOf: (id: string) => Promise<readonly Row[]>;
  readonly toEntry: (row: Row) => Entry;
  /** Default: compares the JSON. */
  readonly isSame?: (one: Entry, other: Entry) => boolean;
}

/** Cache of all rows of one kind, because almost every request reads one. All processes' writes update it. */
export class Directory<Row extends { readonly id: string }, Entry extends { readonly id: string }> {
  readonly #options: DirectoryOptions<Row, Entry>;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<DirectoryListener<Entry>>();
  readonly #rereading: Rereading;
  readonly #stops: readonly (() => void)[];
  #sorted: readonly Entry[] | null = null;

  constructor(options: DirectoryOptions<Row, Entry>) {
    const { changes, kinds, log } = options;
    this.#options = options;
    this.#rereading = new Rereading(log, (id, isOutdated) => this.#read(id, isOutdated));
    this.#stops = kinds.map((kind) => changes.on(kind, this.#rereading.listener));
  }

  async load(): Promise<void> {
    await this.#read(ANYTHING, () => false);
  }

  put(row: Row): Entry {
    this.#rereading.written(row.id);
    return this.#store(row);
  }

  drop(id: string): void {
    this.#rereading.written(id);
    this.#remove(id);
  }

  get(id: string): Entry | null {
    return this.#entries.get(id) ?? null;
  }

  /** In order of creation. Returns the same array until an entry changes. */
  all(): readonly Entry[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return this.#sorted;
  }

  onChange(listener: DirectoryListener<Entry>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onRemove(listener: (removed: Entry) => void): () => void {
    return this.onChange((after, before) => {
      if (after === null && before !== null) listener(before);
    });
  }

  /** Waits until this process has read what was announced. */
  settled(): Promise<void> {
    return this.#rereading.settled();
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#rereading.close();
  }

  async #read(id: string, isOutdated: (id: string) => boolean): Promise<void> {
    const rows = await this.#options.rowsOf(id);
    const found = new Set(rows.map((row) => row.id));
    const candidates = id === ANYTHING ? [...this.#entries.keys()] : [id];
    for (const known of candidates) if (!found.has(known) && !isOutdated(known)) this.#remove(known);
    for (const row of rows) if (!isOutdated(row.id)) this.#store(row);
  }

  #store(row: Row): Entry {
    const before = this.get(row.id);
    const after = this.#options.toEntry(row);
    const { isSame = sameJson } = this.#options;
    if (before !== null && isSame(before, after)) return before;
    this.#entries.set(row.id, after);
    this.#notify(after, before);
    return after;
  }

  #remove(id: string): void {
    const before = this.get(id);
    if (before === null) return;
    this.#entries.delete(id);
    this.#notify(null, before);
  }

  #notify(after: Entry | null, before: Entry | null): void {
    this.#sorted = null;
    for (const listener of this.#listeners) listener(after, before);
  }
}

const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** If more ids wait, everything is read instead. */
const MAX_WAITING = 1_000;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/** Rows for which `isOutdated` then returns true must be ignored. */
type Read = (id: string, isOutdated: (id: string) => boolean) => Promise<void>;

/**
 * Reads announced changes from the database, one at a time, so that an older result cannot overwrite a newer one. Rows
 * that this process writes during a read are newer than its result. Failed reads are retried after MIN_RETRY_MS, twice
 * as long each time up to MAX_RETRY_MS, because nothing else may announce the change again.
 */
export class Rereading {
  readonly #log: StorageLog;
  readonly #read: Read;
  readonly #waiting = new Set<string>();
  readonly #failed = new Set<string>();
  readonly #written = new Set<string>();
  #reading: Promise<void> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #retryMs = MIN_RETRY_MS;
  #isClosed = false;

  constructor(log: StorageLog, read: Read) {
    this.#log = log;
    this.#read = read;
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
    if (this.#failed.size === 0) this.#retryMs = MIN_RETRY_MS;
    // An existing timer stays, so that frequent announcements of other rows do not postpone it.
    if (this.#failed.size === 0 || this.#retry !== null || this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      for (const id of this.#failed) this.listener(id);
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }
}

function addTo(ids: Set<string>, id: string): void {
  if (ids.has(ANYTHING)) return;
  if (id === ANYTHING || ids.size >= MAX_WAITING) {
    ids.clear();
    ids.add(ANYTHING);
  } else ids.add(id);
}
