import type { Changes } from '../../../platform/storage/changes/changes.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { PROBLEM_CHANGED } from './problem-cache.ts';

interface ProblemRetentionOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly days: number;
}

/** Closed problems of all projects together. Beyond it, those that were closed first are deleted. */
const MAX_CLOSED = 10_000;
const DAY_MS = 86_400_000;

/** Deletes closed problems, changes and silences that are older than `days`. Errors: those of the database. */
export async function deleteOldProblems({ db, changes, days }: ProblemRetentionOptions, now: Date): Promise<void> {
  const before = new Date(now.getTime() - days * DAY_MS);
  const { count: old } = await db.problem.deleteMany({ where: { closedAt: { lt: before } } });
  const [last] = await db.problem.findMany({
    where: { closedAt: { not: null } },
    orderBy: { closedAt: 'desc' },
    skip: MAX_CLOSED,
    take: 1,
  });
  const { count: many } =
    last?.closedAt == null
      ? { count: 0 }
      : await db.problem.deleteMany({ where: { closedAt: { lte: last.closedAt } } });
  await db.problemChange.deleteMany({ where: { at: { lt: before } } });
  await db.problemSilence.deleteMany({ where: { until: { lt: before } } });
  if (old + many > 0) await changes.announce(PROBLEM_CHANGED, ANYTHING);
}
