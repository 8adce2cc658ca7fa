/** The queue has no room for the work: it was not started and will not be. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

export interface FairQueueOptions {
  /** Maximum number of pieces of work that run at the same time. */
  readonly atOnce: number;
  /** Maximum number that wait, over all keys. See `FairQueue` for what happens beyond it. */
  readonly maxWaiting: number;
  /** Maximum number that wait for one key. Default: `maxWaiting`. Further work of that key is refused. */
  readonly maxWaitingPerKey?: number;
}

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly isWanted: () => boolean;
}

/**
 * Concurrency limit whose waiting work is started round robin over keys, such as networks: one key with a thousand requests delays
 * another key by one request, not by a thousand.
 *
 * Work that is no longer wanted is skipped. When the queue is full, work that is no longer wanted is dropped first; then the newest
 * work of the key with the most waiting is refused in favour of a key with fewer; otherwise the new work is refused.
 *
 * Errors: QueueFull, and what the work throws.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** In the order in which keys have their turn. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #running = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Pieces of work that wait now. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Runs the work when it is the key's turn. `isWanted` is asked before the work starts; default: always wanted. */
  async run<T>(key: string, work: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    if (this.#running < this.#options.atOnce) this.#running += 1;
    else await this.#turnOf(key, isWanted);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #turnOf(key: string, isWanted: () => boolean): Promise<void> {
    this.#makeRoom(key);
    return new Promise((start, refuse) => {
      const list = this.#waiting.get(key);
      const entry = { start, refuse, isWanted };
      if (list) list.push(entry);
      else this.#waiting.set(key, [entry]);
      this.#waitingCount += 1;
    });
  }

  /** Throws QueueFull. */
  #makeRoom(key: string): void {
    const { maxWaiting, maxWaitingPerKey = maxWaiting } = this.#options;
    const own = () => this.#waiting.get(key)?.length ?? 0;
    if (own() < maxWaitingPerKey && this.#waitingCount < maxWaiting) return;
    this.#dropUnwanted();
    if (own() >= maxWaitingPerKey) throw new QueueFull();
    if (this.#waitingCount < maxWaiting) return;
    const [longest, list] = [...this.#waiting].reduce((one, other) => (other[1].length > one[1].length ? other : one));
    if (list.length <= own() + 1) throw new QueueFull();
    const newest = list.pop();
    this.#removed(longest, list);
    newest?.refuse(new QueueFull());
  }

  #dropUnwanted(): void {
    for (const [key, list] of this.#waiting) {
      for (const entry of list.filter(({ isWanted }) => !isWanted())) {
        list.splice(list.indexOf(entry), 1);
        this.#removed(key, list);
        entry.refuse(new QueueFull());
      }
    }
  }

  /** One entry of the list has gone. */
  #removed(key: string, list: readonly Waiting[]): void {
    this.#waitingCount -= 1;
    if (list.length === 0) this.#waiting.delete(key);
  }

  /** Hands the place of finished work to the next key, without a moment in which it is free for newcomers. */
  #startNext(): void {
    for (const [key, list] of this.#waiting) {
      const next = list.shift();
      this.#removed(key, list);
      if (list.length > 0) {
        // To the end: every other key has its turn first.
        this.#waiting.delete(key);
        this.#waiting.set(key, list);
      }
      if (next?.isWanted()) {
        next.start();
        return;
      }
      next?.refuse(new QueueFull());
    }
    this.#running -= 1;
  }
}
