import { expect } from 'vitest';

/**
 * Before each file: fails where one before it left timers or clocks in their process that are not real, since whatever comes after it would
 * wait for ever. At its start, because vitest puts back what was mocked after the last hook of a file.
 */
const told = () => [
  setTimeout,
  clearTimeout,
  setInterval,
  setImmediate,
  queueMicrotask,
  Date,
  Date.now,
  performance.now,
];
const kept = process as typeof process & { timersAsTheyWere?: ReturnType<typeof told> };
kept.timersAsTheyWere ??= told();
expect(told(), 'a file before this one left timers that are not real').toEqual(kept.timersAsTheyWere);
