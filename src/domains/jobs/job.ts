import type { JobKind, Job as JobRow, JobState } from '../../generated/sqlite/client.ts';

export interface NewJob {
  readonly kind: JobKind;
  readonly brokerId: string;
  /** The id of the stream. Empty for RETAINED_DELETION. */
  readonly subject: string;
  /** What is to be done, as JSON. */
  readonly request: object;
}

export interface JobReport {
  readonly state: JobState;
  /** Never decreases within one job, see RunningJob. */
  readonly done: number;
  readonly total: number;
  /** What is known so far, and where the job is to continue, as JSON. Its kind bounds it. */
  readonly progress: object;
  readonly problem: string | null;
}

/** A stored job. `request` and `progress` are JSON of its kind. */
export interface Job extends Omit<JobRow, 'runningKey' | 'done' | 'total'> {
  readonly done: number;
  readonly total: number;
}

/** A job without what only its kind reads: the topics of a deletion may be as large as a request. */
export type ListedJob = Omit<Job, 'request' | 'progress'>;

export const isEnd = (state: JobState): boolean => state !== 'RUNNING' && state !== 'PAUSED';

export const toJob = <Row extends Pick<JobRow, 'runningKey' | 'done' | 'total'>>({
  runningKey: _runningKey,
  done,
  total,
  ...row
}: Row) => ({ ...row, done: Number(done), total: Number(total) });
