import { performance } from 'node:perf_hooks';

/**
 * Long synchronous work as a generator that yields after each step of well below a millisecond. `runSync` runs it
 * without a pause, for short work. `runInSlices` runs it in slices between which the event loop handles other work.
 */
export type SlicedTask<T> = Generator<void, T, void>;

/** Maximum time of one slice in milliseconds. */
const SLICE_MS = 10;
/** Maximum number of event loop iterations between two slices. Node accepts one new connection per iteration. */
const MAX_ITERATIONS = 100;
/** Maximum time of these iterations in milliseconds. */
const MAX_YIELD_MS = 50;

/** Continuations of tasks that wait for their next slice, first in, first out. */
const waiting: (() => void)[] = [];

/** Runs the whole task without yielding to the event loop. Errors: those of the task. */
export function runSync<T>(task: SlicedTask<T>): T {
  for (;;) {
    const { done, value } = task.next();
    if (done) return value;
  }
}

/**
 * Runs a task in slices of `sliceMs` and yields to the event loop after each, so a task of one slice never yields.
 * Starts immediately unless other tasks wait for their next slice; then it queues behind them. The data that the task
 * reads must not change meanwhile. Errors: those of the task; other tasks continue.
 */
export async function runInSlices<T>(task: SlicedTask<T>, sliceMs = SLICE_MS): Promise<T> {
  // The fields of a GraphQL document all start in one iteration: their first slices together would block the loop.
  if (waiting.length > 0) await nextSlice();
  for (;;) {
    const end = performance.now() + sliceMs;
    do {
      const { done, value } = task.next();
      if (done) return value;
    } while (performance.now() < end);
    await nextSlice();
  }
}

function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) yieldToEventLoop(startSlice);
  });
}

/** Starts one slice. Several slices in one event loop iteration would block it for the sum of their times. */
function startSlice(): void {
  waiting.shift()?.();
  if (waiting.length > 0) yieldToEventLoop(startSlice);
}

/** Events of sockets, timers and threads that the event loop has handled so far. */
const handledEvents = (): number => performance.nodeTiming.uvMetricsInfo.events;

/**
 * Calls back when the event loop has handled all other work: after an iteration without events, after MAX_ITERATIONS,
 * or after MAX_YIELD_MS, whichever comes first.
 */
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
 * Queue of callbacks that are called in slices, in the order of `add`: thousands of listeners that each write to a
 * socket would otherwise block the event loop for the sum of their times. The first call happens in the next event loop
 * iteration, so a caller that adds a listener only once until it is called coalesces all changes of one iteration.
 *
 * Bound: none. The queue has one entry per waiting listener if every caller adds its listener only once.
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
