import type { Changes } from '../../../platform/storage/changes/changes.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { PROBLEM_CHANGED } from './problem-cache.ts';

interface ProblemRetentionOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly days: number;
}

/** Closed problems of all projects together. Beyond it, projects with the most lose those that closed first. */
const MAX_CLOSED = 10_000;
const DAY_MS = 86_400_000;

/** Deletes closed problems, changes and silences that are older than `days`. Errors: those of the database. */
export async function deleteOldProblems({ db, changes, days }: ProblemRetentionOptions, now: Date): Promise<void> {
  const before = new Date(now.getTime() - days * DAY_MS);
  const { count: old } = await db.problem.deleteMany({ where: { closedAt: { lt: before } } });
  const many = await deleteBeyond(db, MAX_CLOSED);
  await db.problemChange.deleteMany({ where: { at: { lt: before } } });
  await db.problemSilence.deleteMany({ where: { until: { lt: before } } });
  if (old + many > 0) await changes.announce(PROBLEM_CHANGED, ANYTHING);
}

/** Returns how many were deleted. A project with thousands of problems does not take the memory of another. */
async function deleteBeyond(db: Database, most: number): Promise<number> {
  const closedAt = { not: null };
  const groups = await db.problem.groupBy({ by: ['projectId'], where: { closedAt }, _count: true });
  const share = fairShare(
    groups.map(({ _count: count }) => count),
    most,
  );
  let deleted = 0;
  for (const { projectId, _count: count } of groups) {
    if (count <= share) continue;
    const where = { projectId, closedAt };
    const last = await db.problem.findFirst({ where, orderBy: { closedAt: 'desc' }, skip: share });
    if (last?.closedAt == null) continue;
    deleted += (await db.problem.deleteMany({ where: { projectId, closedAt: { lte: last.closedAt } } })).count;
  }
  return deleted;
}

/** How many each may have, so that all together have at most so many, and no one is cut below another. */
function fairShare(counts: readonly number[], most: number): number {
  let left = most;
  for (const [index, count] of counts.toSorted((one, other) => one - other).entries()) {
    const share = Math.floor(left / (counts.length - index));
    if (count > share) return share;
    left -= count;
  }
  return most;
}
