import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Seconds of the processor that a file took: threads and processes that it started and saw the end of included. */
    cpu?: number;
  }
}

/** Processor time of ended processes in seconds; 0 if the system does not report it. Linux counts in hundredths. */
function ofChildren(): number {
  try {
    const [user = 0, system = 0] =
      readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ').slice(13, 15).map(Number) ?? [];
    return (user + system) / 100;
  } catch {
    return 0;
  }
}

const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + ofChildren();
};

const begun = now();
// biome-ignore lint/correctness/noEmptyPattern: vitest insists on it.
afterAll(({}, suite) => {
  suite.meta.cpu = now() - begun;
});
