/** The work was refused because too much work waits, or was no longer wanted when its turn came. It was not started. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';

  constructor() {
    super('The work was not started: its queue is full, or it is no longer wanted');
  }
}

export interface ConcurrencyLimitOptions {
  readonly maxRunning: number;
  readonly maxWaiting?: number;
  /** Default: `maxWaiting`. Further work is refused. */
  readonly maxWaitingPerKey?: number;
}

interface WorkOptions {
  readonly key?: string;
  /** Called before the work starts; the work is skipped if it returns false. */
  readonly isWanted?: () => boolean;
}

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
  readonly isWanted: () => boolean;
}

/**
 * Concurrency limit with a queue, which is started round robin over keys, such as networks. When the queue is full,
 * work that is no longer wanted is dropped first; then the newest work of the key with the most waiting is refused in
 * favour of a key with fewer; otherwise the new work is refused. Errors: QueueFull, and errors of the work.
 */
export class ConcurrencyLimit {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingPerKey: number;
  readonly #waiting = new Map<string, Waiting[]>();
  waitingCount = 0;
  #running = 0;

  constructor({
    maxRunning,
    maxWaiting = Number.POSITIVE_INFINITY,
    maxWaitingPerKey = maxWaiting,
  }: ConcurrencyLimitOptions) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingPerKey = maxWaitingPerKey;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  async run<T>(work: () => Promise<T>, { key = '', isWanted = () => true }: WorkOptions = {}): Promise<T> {
    if (this.#running < this.#maxRunning) this.#running += 1;
    else await this.#wait(key, isWanted);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #wait(key: string, isWanted: () => boolean): Promise<void> {
    this.#makeRoom(key);
    return new Promise((start, refuse) => {
      const list = this.#waiting.get(key) ?? [];
      list.push({ start, refuse, isWanted });
      this.#waiting.set(key, list);
      this.waitingCount += 1;
    });
  }

  #makeRoom(key: string): void {
    const own = () => this.#waiting.get(key)?.length ?? 0;
    if (own() < this.#maxWaitingPerKey && this.waitingCount < this.#maxWaiting) return;
    this.#dropUnwanted();
    if (own() >= this.#maxWaitingPerKey) throw new QueueFull();
    if (this.waitingCount < this.#maxWaiting) return;
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

  #removed(key: string, list: readonly Waiting[]): void {
    this.waitingCount -= 1;
    if (list.length === 0) this.#waiting.delete(key);
  }

  /** Passes the place of finished work on to the next key without freeing it, so that new work cannot overtake. */
  #startNext(): void {
    for (const [key, list] of this.#waiting) {
      const next = list.shift();
      this.#removed(key, list);
      if (list.length > 0) {
        // Moves the key to the end: every other key is served first.
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
