/**
 * Tells the parts of this service, in this process and in others on the same database, that something was written, so that
 * caches and live state follow.
 *
 * announce is called after the write is committed. Listeners of this process are told before it returns; listeners of other
 * processes soon after, at least once. The id `'*'` means that anything of that kind may have changed: forget all of it.
 * An announcement is a hint and not a log: a process that dies between its write and its announcement tells nobody, so what
 * must never be stale has a time limit of its own.
 */
export type Stop = () => void;

/** Gets the id of what changed, or `'*'` for anything of its kind. Must not throw. */
export type ChangeListener = (id: string) => void;

export const ANYTHING = '*';

export interface Changes {
  /** Never fails: what could not be told is made up for when there is a connection again. */
  announce(kind: string, id: string): Promise<void>;
  on(kind: string, listener: ChangeListener): Stop;
  /** Nobody is told anything afterwards; safe to call twice. */
  close(): Promise<void>;
}

/** The listeners of one process; all there is where one process owns the database. */
export class LocalChanges implements Changes {
  readonly #listeners = new Map<string, Set<ChangeListener>>();

  async announce(kind: string, id: string): Promise<void> {
    this.tell(kind, id);
  }

  on(kind: string, listener: ChangeListener): Stop {
    const listeners = this.#listeners.get(kind) ?? new Set();
    this.#listeners.set(kind, listeners);
    // A wrapper of its own: the same function may listen twice and stop once.
    const entry: ChangeListener = (id) => listener(id);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
    };
  }

  tell(kind: string, id: string): void {
    for (const listener of this.#listeners.get(kind) ?? []) listener(id);
  }

  /** After a time in which announcements may have been missed. */
  tellEverything(): void {
    for (const kind of this.#listeners.keys()) this.tell(kind, ANYTHING);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }
}
