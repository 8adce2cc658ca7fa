import { type LoopClock, loopClock } from '../../platform/scheduling/loop-clock.ts';
import { AttemptSlots } from './attempt-slots.ts';

/** FIRST: a caller waits for the broker. LAST: the attempts before have failed. */
type Rank = 'FIRST' | 'NORMAL' | 'LAST';

interface AttemptOptions {
  /** Groups have equal turns. */
  readonly group: string;
  readonly rank: Rank;
  readonly start: () => void;
}

/** How often a thread looks for slots that other threads have released. */
const POLL_MS = 50;

/** WAITING -> RUNNING -> OVER, or WAITING -> OVER. */
export class Attempt {
  readonly #owner: ConnectionAttempts;
  readonly options: AttemptOptions;
  isWaiting = true;
  #isOver = false;

  constructor(owner: ConnectionAttempts, options: AttemptOptions) {
    this.#owner = owner;
    this.options = options;
  }

  /** Starts it before those that no caller waits for. */
  hurry(): void {
    if (this.isWaiting && this.options.rank === 'NORMAL') this.#owner.moveToFirst(this);
  }

  /** Gives its slot to the next one. Safe to call twice. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.ended(this);
  }
}

/**
 * The connection attempts of the links of one thread, which start when AttemptSlots has a slot: by rank, and among
 * equal ranks round robin over groups. Bounds: a link has at most one attempt.
 */
export class ConnectionAttempts {
  readonly #slots: AttemptSlots;
  readonly #clock: LoopClock;
  readonly #queues: Readonly<Record<Rank, FairQueue>> = {
    FIRST: new FairQueue(),
    NORMAL: new FairQueue(),
    LAST: new FairQueue(),
  };
  #count = 0;
  #waitingCount = 0;
  #holds = 0;
  #isStarting = false;
  #isPolling = false;

  constructor(slots = AttemptSlots.ofProcess(), clock = loopClock) {
    this.#slots = slots;
    this.#clock = clock;
  }

  get hasWaiting(): boolean {
    return this.#waitingCount > 0;
  }

  /** Whether attempts wait of links that have not failed several times in a row. */
  get hasPromising(): boolean {
    const { FIRST, NORMAL } = this.#queues;
    return !FIRST.isEmpty || !NORMAL.isEmpty;
  }

  setMaximum(maximum: number): void {
    this.#slots.setMaximum(maximum);
  }

  /** Frees the slots of another thread. */
  threadExited(thread: number): void {
    this.#slots.free(thread);
  }

  /**
   * Starts no further attempt until the returned function is called, which is safe to call twice. For closing many
   * links: each that ends would otherwise start the attempt of a link that is closed next.
   */
  hold(): () => void {
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      this.#startNext();
    };
  }

  create(options: AttemptOptions): Attempt {
    return new Attempt(this, options);
  }

  /** `start` may be called before this returns. */
  add(attempt: Attempt): void {
    this.#count += 1;
    if (this.#count === 1) this.#slots.setDemand(true);
    this.#waitingCount += 1;
    this.#queues[attempt.options.rank].add(attempt.options.group, attempt);
    this.#startNext();
  }

  /** For a single connection of a link that exists. Errors: those of `work`. */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    // Only attempts of links are held: a stop ends few sessions.
    if (this.#holds > 0) return work();
    let attempt: Attempt | null = null;
    try {
      await new Promise<void>((start) => {
        attempt = this.create({ group, rank: 'NORMAL', start });
        this.add(attempt);
      });
      return await work();
    } finally {
      (attempt as Attempt | null)?.end();
    }
  }

  moveToFirst(attempt: Attempt): void {
    this.#queues.NORMAL.delete(attempt.options.group, attempt);
    this.#queues.FIRST.add(attempt.options.group, attempt);
  }

  ended(attempt: Attempt): void {
    if (attempt.isWaiting) {
      attempt.isWaiting = false;
      this.#waitingCount -= 1;
      for (const queue of Object.values(this.#queues)) queue.delete(attempt.options.group, attempt);
    } else this.#slots.release();
    this.#count -= 1;
    if (this.#count === 0) this.#slots.setDemand(false);
    else this.#startNext();
  }

  #startNext(): void {
    if (this.#isStarting || this.#holds > 0) return;
    this.#isStarting = true;
    try {
      const { FIRST, NORMAL, LAST } = this.#queues;
      while (this.#waitingCount > 0 && this.#slots.tryTake(FIRST.isEmpty && NORMAL.isEmpty)) {
        const attempt = FIRST.next() ?? NORMAL.next() ?? LAST.next();
        this.#waitingCount -= 1;
        if (attempt) attempt.isWaiting = false;
        attempt?.options.start();
      }
    } finally {
      this.#isStarting = false;
    }
    if (this.#waitingCount > 0) this.#poll();
  }

  #poll(): void {
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#clock.after(POLL_MS, () => {
      this.#isPolling = false;
      this.#startNext();
    });
  }
}

class FairQueue {
  readonly #groups = new Map<string, Set<Attempt>>();

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  add(group: string, attempt: Attempt): void {
    const members = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, members.add(attempt));
  }

  delete(group: string, attempt: Attempt): void {
    const members = this.#groups.get(group);
    if (members?.delete(attempt) && members.size === 0) this.#groups.delete(group);
  }

  next(): Attempt | undefined {
    for (const [group, members] of this.#groups) {
      // The group moves to the end.
      this.#groups.delete(group);
      const [attempt] = members;
      if (attempt !== undefined) members.delete(attempt);
      if (members.size > 0) this.#groups.set(group, members);
      return attempt;
    }
    return undefined;
  }
}

/** Of all links of this thread. */
export const connectionAttempts = new ConnectionAttempts();
