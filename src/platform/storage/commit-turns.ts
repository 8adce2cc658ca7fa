import { performance } from 'node:perf_hooks';

/** Who has something to commit. */
export interface Committer {
  /** One transaction; true: there is more. */
  commit(): boolean;
}

/** Milliseconds that commits may hold the event loop in one piece, beside the one that is under way. */
const SLICE_MS = 5;

/**
 * Commits what came in the same turn of the event loop together, one transaction for each stream. A commit costs an fsync, however
 * little is in it: streams take turns, and what comes while the others have theirs goes into the next commit, so that many streams
 * make larger commits rather than a longer queue.
 */
export class CommitTurns {
  /** In the order in which they asked. */
  readonly #waiting = new Set<Committer>();
  #scheduled = false;

  add(committer: Committer): void {
    this.#waiting.add(committer);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  remove(committer: Committer): void {
    this.#waiting.delete(committer);
  }

  #turn(): void {
    const end = performance.now() + SLICE_MS;
    do {
      const [next] = this.#waiting;
      if (next === undefined) break;
      this.#waiting.delete(next);
      if (next.commit()) this.#waiting.add(next);
    } while (performance.now() < end);
    this.#scheduled = this.#waiting.size > 0;
    if (this.#scheduled) setImmediate(() => this.#turn());
  }
}
