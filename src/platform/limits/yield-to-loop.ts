import { performance } from 'node:perf_hooks';

/** Maximum number of event loop iterations between two slices of long work. Node accepts one new connection per iteration. */
const MAX_ITERATIONS = 100;
/** Maximum time of these iterations in milliseconds. */
const MAX_MS = 50;

/** Events of sockets, timers and threads that the event loop has handled so far. */
const handledEvents = (): number => performance.nodeTiming.uvMetricsInfo.events;

/**
 * Calls back when the event loop has handled all other work: after an iteration without events, after MAX_ITERATIONS, or after MAX_MS,
 * whichever comes first.
 */
export function yieldToLoop(callback: () => void): void {
  const end = performance.now() + MAX_MS;
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
