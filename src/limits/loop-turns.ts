import { performance } from 'node:perf_hooks';

/** Turns of the event loop that others have between two slices of long work: Node accepts one new connection in each. */
const MAX_TURNS = 100;
/** Turns that take longer together are enough, however few. In milliseconds. */
const MAX_MS = 50;

/** Events of sockets, timers and threads that the event loop has handled so far. */
const handledEvents = (): number => performance.nodeTiming.uvMetricsInfo.events;

/** Calls back when the event loop has served everybody else who waits: after a turn without events, or MAX_TURNS, or MAX_MS. */
export function afterTurns(callback: () => void): void {
  const end = performance.now() + MAX_MS;
  let left = MAX_TURNS;
  let handled = handledEvents();
  const turn = () => {
    const before = handled;
    handled = handledEvents();
    left -= 1;
    if (handled === before || left === 0 || performance.now() > end) callback();
    else setImmediate(turn);
  };
  setImmediate(turn);
}
