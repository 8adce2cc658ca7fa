import { performance } from 'node:perf_hooks';

/** Long synchronous work as a generator that yields after each step of well below a millisecond. */
export type SlicedTask<T> = Generator<void, T, void>;

/** Time of work of one kind in one event loop iteration. */
export const SLICE_MS = 10;
/** Event loop iterations between two slices. Node accepts one new connection per iteration. */
const MAX_ITERATIONS = 100;
const MAX_YIELD_MS = 50;

const waiting: (() => void)[] = [];
/** Start of the slice of this event loop iteration, which the tasks of the iteration share. `null` without a slice. */
let startedAt: number | null = null;

export function runSync<T>(task: SlicedTask<T>): T {
  for (;;) {
    const { done, value } = task.next();
    if (done) return value;
  }
}

/**
 * Runs a task in slices of `sliceMs` and yields to the event loop after each. Queues behind other tasks that wait for
 * their next slice. The data that the task reads must not change meanwhile.
 */
export async function runInSlices<T>(task: SlicedTask<T>, sliceMs = SLICE_MS): Promise<T> {
  // The fields of a GraphQL document all start in one iteration: their first slices together would block the loop.
  if (waiting.length > 0 || isOver(sliceMs)) await nextSlice();
  for (;;) {
    beginSlice();
    do {
      const { done, value } = task.next();
      if (done) return value;
    } while (!isOver(sliceMs));
    await nextSlice();
  }
}

const isOver = (sliceMs: number): boolean => startedAt !== null && performance.now() >= startedAt + sliceMs;

function beginSlice(): void {
  if (startedAt !== null) return;
  const now = performance.now();
  startedAt = now;
  setImmediate(() => {
    if (startedAt === now) startedAt = null;
  });
}

function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) yieldToEventLoop(startSlice);
  });
}

/** Starts one slice. Several slices in one event loop iteration would block it for the sum of their times. */
function startSlice(): void {
  startedAt = null;
  waiting.shift()?.();
  if (waiting.length > 0) yieldToEventLoop(startSlice);
}

/** Events of sockets, timers and threads that the event loop has handled so far. */
const handledEvents = (): number => performance.nodeTiming.uvMetricsInfo.events;

/** Calls back after an iteration without events, after MAX_ITERATIONS, or after MAX_YIELD_MS. */
export function yieldToEventLoop(callback: () => void): void {
  const end = performance.now() + MAX_YIELD_MS;
  let left = MAX_ITERATIONS;
  let handled = handledEvents();
  const iterate = () => {
    const before = handled;
    handled = handledEvents();
    left -= 1;
    if (handled === before || left === 0 || performance.now() > end) callback();
    else setImmediate(iterate);
  };
  setImmediate(iterate);
}

/**
 * Callbacks that are called in slices, from the next event loop iteration on: thousands of listeners that each write to
 * a socket would otherwise block the loop, and one that is added once coalesces all changes of one iteration.
 */
export class SlicedCalls {
  #queued: (() => void)[] = [];
  #isRunning = false;

  /** `callback` must not throw. */
  add(callback: () => void): void {
    this.#queued.push(callback);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void runInSlices(this.#callAll()));
  }

  *#callAll(): SlicedTask<void> {
    while (this.#queued.length > 0) {
      const batch = this.#queued;
      this.#queued = [];
      for (const callback of batch) {
        callback();
        yield;
      }
    }
    this.#isRunning = false;
  }
}

/** A tick runs after all microtasks, so the synchronous part of what has started is complete then. */
export async function afterMicrotasks(): Promise<void> {
  await null;
  await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** The time that work of one kind has in each event loop iteration. */
export class IterationSlice {
  #endsAt = 0;
  /** When work last had time. */
  #hadTimeAt = Number.NEGATIVE_INFINITY;

  hasTime(): boolean {
    const now = performance.now();
    this.#begin(now);
    if (now >= this.#endsAt) return false;
    this.#hadTimeAt = now;
    return true;
  }

  /** Leaves this iteration no more time, unless work has had none for MAX_YIELD_MS: each iteration may call this. */
  end(): void {
    const now = performance.now();
    this.#begin(now);
    if (now < this.#hadTimeAt + MAX_YIELD_MS) this.#endsAt = Number.NEGATIVE_INFINITY;
  }

  #begin(now: number): void {
    if (this.#endsAt !== 0) return;
    this.#endsAt = now + SLICE_MS;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#endsAt = 0;
  };
}

/** Starts work in iterations that have time left, in turn for each caller, so that none waits for all of another. */
export class SlicedStarts {
  readonly #slice = new IterationSlice();
  /** By caller, in the order of their turns. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #isBusy = false;

  /** Whether work waits for its turn, or started in one that is not over. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether work may start without `add`. */
  get isFree(): boolean {
    return !this.#isBusy && this.#slice.hasTime();
  }

  /** Work waits for the next iteration, but not for ever: see `IterationSlice.end`. */
  postpone(): void {
    this.#slice.end();
  }

  /** `start` must not throw, and is called once if it is added again before. */
  add(caller: string, start: () => void): void {
    const waiting = this.#waiting.get(caller);
    if (waiting === undefined) this.#waiting.set(caller, new Set([start]));
    else waiting.add(start);
    if (this.#isBusy) return;
    this.#isBusy = true;
    void this.#startWaiting();
  }

  async #startWaiting(): Promise<void> {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      while (!this.#slice.hasTime()) await new Promise<void>(yieldToEventLoop);
      const [caller, starts] = next;
      const [start] = starts;
      this.#waiting.delete(caller);
      if (start !== undefined) starts.delete(start);
      if (starts.size > 0) this.#waiting.set(caller, starts);
      start?.();
      await afterMicrotasks();
    }
    this.#isBusy = false;
  }
}
