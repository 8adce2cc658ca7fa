import { expect, test } from 'vitest';
import type { JobReport } from '../../../src/domains/jobs/job.ts';
import { RunningJob } from '../../../src/domains/jobs/running-job.ts';

const report = (fields: Partial<JobReport>): JobReport => ({
  state: 'RUNNING',
  done: 0,
  total: 0,
  progress: {},
  problem: null,
  ...fields,
});

test('the last report is stored when a flush ends, also if another one is being written', async () => {
  const stored: string[] = [];
  const ends: (() => void)[] = [];
  const job = new RunningJob({
    id: 'job_1',
    done: 0,
    write: async ({ state }) => {
      await new Promise<void>((end) => ends.push(end));
      stored.push(state);
      return true;
    },
    discard: async () => undefined,
    onFault: () => undefined,
  });
  job.report(report({ done: 1 }));
  job.report(report({ done: 2, state: 'DONE' }));
  const flushed = job.flush().then(() => stored.slice());
  for (const count of [1, 2]) {
    await expect.poll(() => ends.length).toBe(count);
    ends.at(-1)?.();
  }
  expect(await flushed).toEqual(['RUNNING', 'DONE']);
  expect(job.isStored).toBe(true);
});
