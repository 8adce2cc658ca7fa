import type { StreamReport } from '../model/stream-report.ts';

/** Of a stream that cannot run for a reason which is not its own; `last`: what was known of it before. */
export function failedReport(last: StreamReport | undefined, problem: string): StreamReport {
  const known = last ?? unknownReport();
  const { replay } = known;
  const isReplaying = replay?.state === 'RUNNING' || replay?.state === 'PAUSED';
  return {
    ...known,
    state: 'FAILED',
    problem,
    replay: replay && isReplaying ? { ...replay, state: 'FAILED', endedAt: Date.now(), problem } : replay,
  };
}

const unknownReport = (): StreamReport => ({
  state: 'FAILED',
  problem: null,
  counters: {
    since: Date.now(),
    received: 0,
    published: 0,
    stored: 0,
    filtered: 0,
    failed: 0,
    notStored: 0,
    replayed: 0,
    lastReceived: null,
    lastError: null,
    lastFiltered: null,
  },
  storage: { state: 'OFF', messages: 0, bytes: 0, oldest: null, newest: null, problem: null },
  replay: null,
});
