import { getEnvironmentData, setEnvironmentData, threadId } from 'node:worker_threads';

export const DEFAULT_MAX_ATTEMPTS = 32;
const KEY = 'brokergraph.attemptSlots';
/** Maximum number of threads with cells of their own. Further threads share the last cell. */
const THREADS = 256;
const RUNNING = 1;
const DEMAND = RUNNING + THREADS;
const OWNERS = DEMAND + THREADS;
/** Attempts of links that fail again and again leave a quarter of the slots to the others. */
const LAST_SHARE = 0.75;

/**
 * Limit of the connection attempts in progress, of all threads of this process together, in memory that they share.
 * Threads with attempts have equal shares. The slots of a thread that exited must be freed.
 */
export class AttemptSlots {
  /** The maximum; then for each thread its attempts in progress, whether it has attempts, and its id plus one. */
  readonly #cells: Int32Array;
  readonly #own: number;

  constructor(cells: Int32Array, thread: number) {
    this.#cells = cells;
    this.#own = claim(cells, thread);
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
    Atomics.store(this.#cells, DEMAND + this.#own, hasAttempts ? 1 : 0);
  }

  tryTake(isLast: boolean): boolean {
    const maximum = Atomics.load(this.#cells, 0);
    const share = Math.ceil((maximum / Math.max(1, this.#sum(DEMAND))) * (isLast ? LAST_SHARE : 1));
    if (Atomics.load(this.#cells, RUNNING + this.#own) >= share) return false;
    Atomics.add(this.#cells, RUNNING + this.#own, 1);
    if (this.#sum(RUNNING) <= maximum) return true;
    this.release();
    return false;
  }

  release(): void {
    Atomics.sub(this.#cells, RUNNING + this.#own, 1);
  }

  free(thread: number): void {
    const cell = this.#cells.indexOf(thread + 1, OWNERS) - OWNERS;
    if (cell < 0) return;
    for (const part of [RUNNING, DEMAND, OWNERS]) Atomics.store(this.#cells, part + cell, 0);
  }

  #sum(from: number): number {
    let sum = 0;
    for (let cell = from; cell < from + THREADS; cell += 1) sum += Atomics.load(this.#cells, cell);
    return sum;
  }
}

/** Ids of threads are never used again, so a process has more of them in time than cells. */
function claim(cells: Int32Array, thread: number): number {
  for (let cell = 0; cell < THREADS; cell += 1) {
    if (Atomics.compareExchange(cells, OWNERS + cell, 0, thread + 1) === 0) return cell;
  }
  return THREADS - 1;
}

/** Cells that no other thread knows. */
export function newCells(maximum = DEFAULT_MAX_ATTEMPTS): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(4 * (1 + 3 * THREADS)));
  cells[0] = maximum;
  return cells;
}
