import { performance } from 'node:perf_hooks';
import { yieldToLoop } from '../limits/yield-to-loop.ts';

/**
 * Long work in steps of well below a millisecond, with a `yield` after each: the same work is done at once (`atOnce`) where it is
 * short, or in slices (`inTurns`) between which everybody else is served.
 */
export type Steps<T> = Generator<void, T, void>;

/** Milliseconds that the work may hold the event loop in one piece. */
const SLICE_MS = 10;

/** Work that waits for its next slice, first in, first out. */
const waiting: (() => void)[] = [];

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Begins at once where nobody waits for the loop, and lets it turn after each slice, so that short work takes no turn. What the
 * work reads must not change meanwhile.
 */
export async function inTurns<T>(steps: Steps<T>, sliceMs = SLICE_MS): Promise<T> {
  // A document's fields all begin in one turn: their first slices together would hold the loop.
  if (waiting.length > 0) await turn();
  for (;;) {
    const end = performance.now() + sliceMs;
    do {
      const { done, value } = steps.next();
      if (done) return value;
    } while (performance.now() < end);
    await turn();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) yieldToLoop(next);
  });
}

/** Runs one slice. Several slices in one event loop iteration would block it for the sum of their times. */
function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) yieldToLoop(next);
}
