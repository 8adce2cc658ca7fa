import { expect, test } from 'vitest';
import { RestartBackoff } from '../../../src/protocol/hosting/worker-thread.ts';

test('pauses before restarts double to at most 30 s, and start again after a run of more than a minute', () => {
  const backoff = new RestartBackoff();
  const pauses = Array.from({ length: 9 }, () => backoff.next(0));
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(backoff.next(60_001)).toBe(250);
  expect(backoff.next(60_000)).toBe(500);
});
