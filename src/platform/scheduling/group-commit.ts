import { performance } from 'node:perf_hooks';

/** A store that has changes to commit. */
export interface Committer {
  /** Commits one transaction. Returns whether there is more to commit. Must not throw. */
  commit(): boolean;
}

/** Maximum time in milliseconds that commits may block the event loop, in addition to the current one. */
const SLICE_MS = 5;

/**
 * Group commit: commits the changes of one event loop iteration together, one transaction per store, in the order of
 * `add`. A commit costs an fsync, however small it is. Stores take turns, and changes that arrive meanwhile join the
 * store's next commit, so that many stores make larger commits and not a longer queue.
 *
 * Bound: one entry per store.
 */
export class GroupCommit {
  /** In the order of `add`. */
  readonly #waiting = new Set<Committer>();
  #isScheduled = false;

  add(committer: Committer): void {
    this.#waiting.add(committer);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#commitSlice());
  }

  remove(committer: Committer): void {
    this.#waiting.delete(committer);
  }

  #commitSlice(): void {
    const end = performance.now() + SLICE_MS;
    do {
      const [next] = this.#waiting;
      if (next === undefined) break;
      this.#waiting.delete(next);
      if (next.commit()) this.#waiting.add(next);
    } while (performance.now() < end);
    this.#isScheduled = this.#waiting.size > 0;
    if (this.#isScheduled) setImmediate(() => this.#commitSlice());
  }
}
