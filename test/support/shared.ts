import { afterAll, onTestFinished } from 'vitest';

type End = () => void | Promise<void>;
let sharedEnds: End[] | null = null;

/** Calls `end` after the test, or after the last test for what `useShared` starts. */
export function onEnd(end: End): void {
  if (sharedEnds === null) onTestFinished(end);
  else sharedEnds.push(end);
}

/**
 * For all tests of the file or the `describe` that calls this at its top level: the first call of the result starts
 * something, and later calls return the same. Tests must not depend on what others leave in it.
 */
export function useShared<Started>(start: () => Promise<Started>): () => Promise<Started> {
  const ends: End[] = [];
  let started: Promise<Started> | null = null;
  afterAll(async () => {
    for (let end = ends.pop(); end; end = ends.pop()) await end();
  });
  return () => {
    if (started === null) {
      sharedEnds = ends;
      started = start().finally(() => {
        sharedEnds = null;
      });
    }
    return started;
  };
}
