import type { Logger } from 'pino';
import { Listeners } from '../../listeners.ts';
import { runInSlices, runSync, type SlicedTask } from '../../scheduling/sliced-task.ts';
import type { Database } from '../database.ts';
import { ANYTHING, type Changes } from './changes.ts';
import { Rereading } from './rereading.ts';

/** What the cache of a table uses. */
export interface CacheParts {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

interface RowCacheOptions<Row, Entry> {
  readonly changes: Changes;
  readonly log: Logger;
  readonly kinds: readonly string[];
  /** Reads the rows that an announced id, or several with spaces between, affects; all rows for ANYTHING. */
  readonly rowsOf: (id: string) => Promise<readonly Row[]>;
  readonly toEntry: (row: Row) => Entry;
  /** Default: compares the JSON. */
  readonly isSame?: (one: Entry, other: Entry) => boolean;
}

/** Cache of all rows of one kind, because almost every request reads one. All processes' writes update it. */
export class RowCache<Row extends { readonly id: string }, Entry extends { readonly id: string }> {
  readonly #options: RowCacheOptions<Row, Entry>;
  readonly #entries = new Map<string, Entry>();
  /** By id: the row as JSON, so that it is logged again only if it has changed. */
  readonly #unreadable = new Map<string, string>();
  readonly #listeners = new Listeners<[after: Entry | null, before: Entry | null]>();
  readonly #rereading: Rereading;
  readonly #stops: readonly (() => void)[];
  #sorted: readonly Entry[] | null = null;

  constructor(options: RowCacheOptions<Row, Entry>) {
    const { changes, kinds, log } = options;
    this.#options = options;
    this.#rereading = new Rereading(log, (id, isOutdated) => this.#read(id, isOutdated));
    this.#stops = kinds.map((kind) => changes.on(kind, this.#rereading.listener));
  }

  load(): Promise<void> {
    return this.#rereading.load();
  }

  put(row: Row): Entry {
    this.#rereading.written(row.id);
    return this.#store(this.#options.toEntry(row));
  }

  drop(id: string): void {
    this.#rereading.written(id);
    this.#remove(id);
  }

  get(id: string): Entry | null {
    return this.#entries.get(id) ?? null;
  }

  /** Ids of rows that are left out, because they cannot be read. */
  get unreadable(): readonly string[] {
    return [...this.#unreadable.keys()];
  }

  /** In order of creation. Returns the same array until an entry changes. */
  all(): readonly Entry[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return this.#sorted;
  }

  /** `before` is `null` for an added entry, `after` is `null` for a removed one. */
  readonly onChange = this.#listeners.add;

  onRemove(listener: (removed: Entry) => void): () => void {
    return this.onChange((after, before) => {
      if (after === null && before !== null) listener(before);
    });
  }

  /**
   * Lists the entries of a key in order of creation. Returns the same array until one of its entries changes. Call it
   * in a field of the class: its listener is then the first one, and others read the new list.
   */
  protected listsBy(keyOf: (entry: Entry) => string): (key: string) => readonly Entry[] {
    const lists = new Map<string, readonly Entry[]>();
    this.onChange((after, before) => {
      for (const entry of [before, after]) if (entry !== null) lists.delete(keyOf(entry));
    });
    return (key) => {
      const list = lists.get(key) ?? this.all().filter((entry) => keyOf(entry) === key);
      lists.set(key, list);
      return list;
    };
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
    const candidates = id === ANYTHING ? [...this.#entries.keys(), ...this.#unreadable.keys()] : id.split(' ');
    for (const known of candidates) if (!found.has(known) && !isOutdated(known)) this.#remove(known);
    const storing = this.#storeAll(rows, isOutdated);
    // Each of a thousand chains of certificates takes up to 10 ms. A single row does not queue behind other tasks.
    if (rows.length > 1) await runInSlices(storing);
    else runSync(storing);
  }

  *#storeAll(rows: readonly Row[], isOutdated: (id: string) => boolean): SlicedTask<void> {
    for (const row of rows) {
      if (!isOutdated(row.id)) this.#storeReadable(row);
      yield;
    }
  }

  /** A row that cannot be read, for example because OpenSSL no longer accepts its certificate, hides only itself. */
  #storeReadable(row: Row): void {
    let entry: Entry;
    try {
      entry = this.#options.toEntry(row);
    } catch (err) {
      const isKnown = this.#unreadable.get(row.id) === JSON.stringify(row);
      if (!isKnown)
        this.#options.log.error({ err, id: row.id }, 'a row of the database cannot be read, and is left out');
      this.#remove(row.id);
      this.#unreadable.set(row.id, JSON.stringify(row));
      return;
    }
    this.#store(entry);
  }

  #store(after: Entry): Entry {
    this.#unreadable.delete(after.id);
    const before = this.get(after.id);
    const { isSame = sameJson } = this.#options;
    if (before !== null && isSame(before, after)) return before;
    this.#entries.set(after.id, after);
    this.#notify(after, before);
    return after;
  }

  #remove(id: string): void {
    this.#unreadable.delete(id);
    const before = this.get(id);
    if (before === null) return;
    this.#entries.delete(id);
    this.#notify(null, before);
  }

  #notify(after: Entry | null, before: Entry | null): void {
    this.#sorted = null;
    this.#listeners.notify(after, before);
  }
}

const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
