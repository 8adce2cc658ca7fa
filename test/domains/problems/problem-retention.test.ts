import { expect, test } from 'vitest';
import { deleteOldProblems } from '../../../src/domains/problems/storage/problem-retention.ts';
import { startTestService } from '../../support/service.ts';

const DAY_MS = 86_400_000;

test('a project with more closed problems than are kept loses its own oldest, and another one none', async () => {
  const { storage, projectId } = await startTestService();
  const { db, changes } = storage;
  const now = new Date();
  const closed = (id: string, project: string | null, minutesAgo: number) => {
    const closedAt = new Date(now.getTime() - minutesAgo * 60_000);
    const texts = { kind: 'BRIDGE_DOWN', severity: 'CRITICAL', subjectName: 'a', detail: 'a' };
    return { id, key: id, projectId: project, ...texts, openedAt: closedAt, lastSeenAt: closedAt, closedAt };
  };
  const many = Array.from({ length: 10_100 }, (_, number) => closed(`many-${number}`, null, number / 10));
  const few = Array.from({ length: 50 }, (_, number) => closed(`few-${number}`, projectId, 10 * 1_440 + number));
  await db.problem.createMany({ data: [...many, ...few, closed('old', projectId, 31 * 1_440)] });
  await deleteOldProblems({ db, changes, days: 30 }, now);
  expect(await db.problem.count({ where: { projectId, id: { startsWith: 'few' } } })).toBe(50);
  expect(await db.problem.count({ where: { id: 'old' } })).toBe(0);
  const left = await db.problem.count({ where: { id: { startsWith: 'many' } } });
  expect(left).toBeLessThanOrEqual(10_000 - 50);
  expect(left).toBeGreaterThan(9_900);
  const oldest = await db.problem.findFirst({ where: { id: { startsWith: 'many' } }, orderBy: { closedAt: 'asc' } });
  expect(Number(oldest?.id.slice('many-'.length))).toBeLessThan(10_000);
  expect(oldest?.closedAt?.getTime()).toBeGreaterThan(now.getTime() - DAY_MS);
});
