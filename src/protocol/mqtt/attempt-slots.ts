import { getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';

export const DEFAULT_MAX_ATTEMPTS = 32;
const KEY = 'brokergraph.attemptSlots';
const THREADS = 256;
/** Attempts of links that fail again and again leave a quarter of the slots to the others. */
const LAST_SHARE = 0.75;

/**
 * Limit of the connection attempts in progress, of all threads of this process together, in memory that they share.
 * Threads with attempts have equal shares. The slots of a thread that exited must be freed.
 */
export class AttemptSlots {
  /** The maximum; then for each thread its attempts in progress; then for each thread whether it has attempts. */
  readonly #cells: Int32Array;
  readonly #thread: number;

  constructor(cells: Int32Array, thread: number) {
    this.#cells = cells;
    this.#thread = thread % THREADS;
  }

  static ofProcess(): AttemptSlots {
    const known = getEnvironmentData(KEY);
    if (known instanceof SharedArrayBuffer) return new AttemptSlots(new Int32Array(known), threadId);
    const cells = newCells();
    // Threads that start later get it.
    setEnvironmentData(KEY, cells.buffer as SharedArrayBuffer);
    return new AttemptSlots(cells, threadId);
  }

  setMaximum(maximum: number): void {
    Atomics.store(this.#cells, 0, maximum);
  }

  setDemand(hasAttempts: boolean): void {
    Atomics.store(this.#cells, 1 + THREADS + this.#thread, hasAttempts ? 1 : 0);
  }

  tryTake(isLast: boolean): boolean {
    const maximum = Atomics.load(this.#cells, 0);
    const share = Math.ceil((maximum / Math.max(1, this.#sum(1 + THREADS))) * (isLast ? LAST_SHARE : 1));
    if (Atomics.load(this.#cells, 1 + this.#thread) >= share) return false;
    Atomics.add(this.#cells, 1 + this.#thread, 1);
    if (this.#sum(1) <= maximum) return true;
    this.release();
    return false;
  }

  release(): void {
    Atomics.sub(this.#cells, 1 + this.#thread, 1);
  }

  free(thread: number): void {
    Atomics.store(this.#cells, 1 + (thread % THREADS), 0);
    Atomics.store(this.#cells, 1 + THREADS + (thread % THREADS), 0);
  }

  #sum(from: number): number {
    let sum = 0;
    for (let cell = from; cell < from + THREADS; cell += 1) sum += Atomics.load(this.#cells, cell);
    return sum;
  }
}

/** Cells that no other thread knows. */
export function newCells(maximum = DEFAULT_MAX_ATTEMPTS): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(4 * (1 + 2 * THREADS)));
  cells[0] = maximum;
  return cells;
}
