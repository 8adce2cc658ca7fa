import { type ErrorCode, ServiceError } from '../../../platform/errors.ts';
import type { Job, JobReport } from '../../jobs/job.ts';
import type { TopicResult } from './deletion-entries.ts';
import { DELETION_STATUSES, type DeletionCounts } from './deletion-entries.ts';
import type { ContinuedDeletion, DeletionProgress, DeletionRequest, DeletionState } from './retained-deletion.ts';

interface StoredResult extends Pick<TopicResult, 'topic' | 'status'> {
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly info?: Record<string, unknown>;
  } | null;
}

interface StoredDeletion
  extends Pick<DeletionProgress, 'state' | 'counts' | 'total' | 'isComplete' | 'interruptions'>,
    Pick<ContinuedDeletion, 'notFound'> {
  readonly results: readonly StoredResult[];
}

/** Of the results in the database. Further ones are left out; those of topics that were not deleted come first. */
const MAX_RESULT_BYTES = 256 * 1_024;

const STATES: Readonly<Record<DeletionState, JobReport['state']>> = {
  READING: 'RUNNING',
  DELETING: 'RUNNING',
  WAITING: 'PAUSED',
  DONE: 'DONE',
  FAILED: 'FAILED',
};

const NOTHING: StoredDeletion = {
  state: 'READING',
  counts: Object.fromEntries(DELETION_STATUSES.map((status) => [status, 0])) as DeletionCounts,
  total: 0,
  isComplete: false,
  interruptions: 0,
  notFound: null,
  results: [],
};

/** What is stored of a deletion. Its counts are exact, also those of results that are left out. */
export function reportOf(deletion: DeletionProgress, notFound: ContinuedDeletion['notFound']): JobReport {
  const { state, counts, total, isComplete, interruptions, problem } = deletion;
  const results = resultsToStore(deletion.results);
  const progress: StoredDeletion = { state, counts, total, isComplete, interruptions, notFound, results };
  return { state: STATES[state], done: counts.DELETED, total, progress, problem };
}

export const requestOf = ({ request }: Job): DeletionRequest => JSON.parse(request) as DeletionRequest;

export function continuedOf(job: Job): ContinuedDeletion {
  const { counts, notFound, interruptions } = storedIn(job);
  return { deleted: counts.DELETED, notFound, interruptions };
}

export function deletionIn(job: Job): DeletionProgress {
  const { filter, isDryRun } = requestOf(job);
  const { notFound: _notFound, results, ...stored } = storedIn(job);
  return {
    ...stored,
    state: stateOf(job, stored.state),
    jobId: job.id,
    filter,
    isDryRun,
    problem: job.problem,
    startedAt: job.startedAt.getTime(),
    endedAt: job.endedAt?.getTime() ?? null,
    results: results.map(({ error, ...result }) => ({ ...result, error: error && errorOf(error) })),
  };
}

/** The state of a job may be newer: it was stopped, or failed before the first progress. */
function stateOf({ state }: Job, stored: DeletionState): DeletionState {
  if (STATES[stored] === state) return stored;
  if (state === 'PAUSED') return 'WAITING';
  if (state === 'RUNNING') return 'READING';
  return state === 'DONE' ? 'DONE' : 'FAILED';
}

const storedIn = ({ progress }: Job): StoredDeletion =>
  progress === null ? NOTHING : { ...NOTHING, ...(JSON.parse(progress) as Partial<StoredDeletion>) };

function resultsToStore(results: readonly TopicResult[]): StoredResult[] {
  let left = MAX_RESULT_BYTES;
  const stored: StoredResult[] = [];
  for (const { topic, status, error } of results) {
    const result = { topic, status, error: error && { ...error.extensions, message: error.message } };
    left -= Buffer.byteLength(JSON.stringify(result)) + 1;
    if (left < 0) break;
    stored.push(result);
  }
  return stored;
}

const errorOf = ({ code, message, info }: NonNullable<StoredResult['error']>): ServiceError =>
  new ServiceError(code, message, info === undefined ? {} : { info });
