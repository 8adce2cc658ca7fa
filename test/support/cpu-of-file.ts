import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /**
     * Processor time of a test file in seconds, including its threads and the child processes that have exited. A
     * Chromium is not included, because it serves several files.
     */
    cpu?: number;
  }
}

/** Processor time of exited child processes in seconds; 0 if the system does not report it. Linux counts hundredths. */
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
// biome-ignore lint/correctness/noEmptyPattern: vitest requires an object pattern as the first parameter.
afterAll(({}, suite) => {
  suite.meta.cpu = now() - begun;
});
