import { expect } from 'vitest';

/**
 * Runs before each test file. Fails if a previous file in the same process left mocked timers, because later files
 * would wait forever. Vitest restores mocks after the last hook of a file, so this check cannot run at its end.
 */
const timers = () => [
  setTimeout,
  clearTimeout,
  setInterval,
  setImmediate,
  queueMicrotask,
  Date,
  Date.now,
  performance.now,
];
const shared = process as typeof process & { realTimers?: ReturnType<typeof timers> };
shared.realTimers ??= timers();
expect(timers(), 'a previous test file left mocked timers').toEqual(shared.realTimers);
