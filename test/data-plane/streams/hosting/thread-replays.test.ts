import { expect, test } from 'vitest';
import { ThreadReplays } from '../../../../src/data-plane/streams/hosting/thread-replays.ts';
import type { ReplayProgress } from '../../../../src/data-plane/streams/model/stream-replay.ts';

const running = (published: number): ReplayProgress => ({
  id: 1,
  jobId: 'job_1',
  state: 'RUNNING',
  request: { topic: 'out', from: null, to: null, limit: null, speed: 1, reverse: false },
  published,
  total: 10,
  position: null,
  startedAt: 0,
  endedAt: null,
  problem: null,
  checkpoint: null,
});

/** The states of a replay whose thread fails again and again, after these numbers of messages. */
function statesAfter(counts: readonly number[]): (string | undefined)[] {
  const replays = new ThreadReplays();
  return counts.map((published) => {
    replays.report('str_1', running(published));
    replays.threadFailed('out of memory');
    return replays.get('str_1')?.state;
  });
}

test('a replay at which the thread fails three times is given up, unless it publishes something between', () => {
  expect(statesAfter([4, 4, 4])).toEqual(['PAUSED', 'PAUSED', 'FAILED']);
  expect(statesAfter([0, 1, 2, 3, 3])).toEqual(['PAUSED', 'PAUSED', 'PAUSED', 'PAUSED', 'PAUSED']);
});

test('a replay that waits for the broker is not given up if the thread fails for another reason', () => {
  const replays = new ThreadReplays();
  replays.report('str_1', { ...running(4), state: 'PAUSED' });
  for (let failures = 0; failures < 5; failures += 1) replays.threadFailed('out of memory');
  expect(replays.get('str_1')?.state).toBe('PAUSED');
});
