import { performance } from 'node:perf_hooks';

export interface Committer {
  /** Commits one transaction. Returns whether there is more to commit. Must not throw. */
  commit(): boolean;
}

/** In addition to the current commit. */
const SLICE_MS = 5;

/**
 * Commits the changes of one event loop iteration together, one transaction per store, because a commit costs an fsync,
 * however small it is. Stores alternate, and changes that arrive meanwhile join the next commit.
 */
export class GroupCommit {
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
