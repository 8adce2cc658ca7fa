import type { Logger } from 'pino';
import { ANYTHING, type Changes } from './changes.ts';
import { Rereading } from './rereading.ts';

/** Told after the directory changed; null is the state before an addition, or after a removal. */
export type DirectoryListener<Entry> = (after: Entry | null, before: Entry | null) => void;

export interface DirectoryOptions<Row, Entry> {
  readonly changes: Changes;
  readonly log: Logger;
  /** Kinds of announced changes that concern its rows. */
  readonly kinds: readonly string[];
  /** The rows that an announced id concerns; with ANYTHING all of them. */
  readonly rowsOf: (id: string) => Promise<readonly Row[]>;
  readonly toEntry: (row: Row) => Entry;
  /** Default: the same as JSON. */
  readonly isSame?: (one: Entry, other: Entry) => boolean;
}

/**
 * All rows of one kind, in memory, because almost every request looks one up. Kept true by its own service's writes and, with
 * several processes, by the database's notifications.
 */
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

  /** What a write of this process left. */
  put(row: Row): Entry {
    this.#rereading.written(row.id);
    return this.#keep(row);
  }

  drop(id: string): void {
    this.#rereading.written(id);
    this.#forget(id);
  }

  get(id: string): Entry | null {
    return this.#entries.get(id) ?? null;
  }

  /** In order of creation; the same array until one of them changes. */
  all(): readonly Entry[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return this.#sorted;
  }

  onChange(listener: DirectoryListener<Entry>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells what has been removed, as `onChange` does. */
  onRemove(listener: (removed: Entry) => void): () => void {
    return this.onChange((after, before) => {
      if (after === null && before !== null) listener(before);
    });
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#rereading.settled();
  }

  async #read(id: string, isOutdated: (id: string) => boolean): Promise<void> {
    const rows = await this.#options.rowsOf(id);
    const found = new Set(rows.map((row) => row.id));
    const gone = id === ANYTHING ? [...this.#entries.keys()] : [id];
    for (const known of gone) if (!found.has(known) && !isOutdated(known)) this.#forget(known);
    for (const row of rows) if (!isOutdated(row.id)) this.#keep(row);
  }

  #keep(row: Row): Entry {
    const before = this.get(row.id);
    const after = this.#options.toEntry(row);
    // The same row read twice (own write, then its notification) is no change.
    const { isSame = sameJson } = this.#options;
    if (before !== null && isSame(before, after)) return before;
    this.#entries.set(row.id, after);
    this.#tell(after, before);
    return after;
  }

  #forget(id: string): void {
    const before = this.get(id);
    if (before === null) return;
    this.#entries.delete(id);
    this.#tell(null, before);
  }

  #tell(after: Entry | null, before: Entry | null): void {
    this.#sorted = null;
    for (const listener of this.#listeners) listener(after, before);
  }
}

const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
