import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../platform/storage/database.ts';
import { ChainCheck, type ChainPosition, type ChainProblem, GENESIS, type Marks, missing } from './audit-chain.ts';
import { findLostEntry } from './audit-witness.ts';

/** One entry takes up to 32 kB. */
export const PAGE = 250;
const MAX_PROBLEMS = 100;

export interface AuditVerification {
  readonly isIntact: boolean;
  readonly checked: number;
  readonly start: ChainPosition;
  readonly head: ChainPosition;
  readonly problems: readonly ChainProblem[];
  readonly problemCount: number;
}

/**
 * Finds all entries that were changed, deleted, inserted or moved without the secret key. A rollback of the whole
 * database is found by `expected`, a hash that must be in the chain, and by `committed`, a position that this process
 * has written.
 */
export async function verifyChain(
  db: Database,
  marks: Marks,
  expected: string | null,
  committed: ChainPosition | null = null,
): Promise<AuditVerification> {
  const problems: ChainProblem[] = [];
  let problemCount = 0;
  const report = (problem: ChainProblem | null) => {
    if (problem === null) return;
    problemCount += 1;
    if (problems.length < MAX_PROBLEMS) problems.push(problem);
  };
  let start = await markOf(db, marks, 'start', report);
  let check = new ChainCheck(start);
  let isFound = expected === null || start.hash === expected;
  for (;;) {
    await nextTurn();
    const page = await db.auditEntry.findMany({
      where: { sequence: { gt: check.position.sequence } },
      orderBy: { sequence: 'asc' },
      take: PAGE,
    });
    const [first] = page;
    if (first === undefined) {
      const problem = await problemAtEnd(db, marks, check.position);
      if (problem === 'MORE') continue;
      report(problem);
      break;
    }
    if (first.sequence !== check.position.sequence + 1 && problemCount === 0) {
      // The retention may have deleted old entries during the verification.
      const now = await markOf(db, marks, 'start', report);
      if (now.sequence > start.sequence) {
        start = now;
        check = new ChainCheck(start);
        continue;
      }
    }
    for (const entry of page) {
      report(check.next(entry));
      isFound ||= entry.hash === expected;
    }
  }
  const { position } = check;
  report(await findLostEntry(db, marks, committed));
  if (!isFound) report({ sequence: position.sequence, reason: 'the expected hash is not in the chain' });
  return { isIntact: problemCount === 0, checked: check.checked, start, head: position, problems, problemCount };
}

type Report = (problem: ChainProblem) => void;

async function markOf(db: Database, marks: Marks, name: 'start', report: Report): Promise<ChainPosition> {
  const mark = await db.auditMark.findUnique({ where: { name } });
  if (mark === null) return GENESIS;
  const { sequence, hash } = mark;
  const seal = marks.check(mark);
  if (seal !== 'GOOD') report({ sequence, reason: `the mark of the first entry ${INVALID_MARK[seal]}` });
  return { sequence, hash };
}

const INVALID_MARK = {
  BAD: 'was not signed by this service',
  OTHER_KEY: 'was signed with another SECRET_KEY',
} as const;

/** `MORE` if entries were written after the last page was read. */
async function problemAtEnd(
  db: Database,
  marks: Marks,
  { sequence, hash }: ChainPosition,
): Promise<ChainProblem | 'MORE' | null> {
  const mark = await db.auditMark.findUnique({ where: { name: 'head' } });
  if (mark === null) return sequence === 0 ? null : { sequence, reason: 'the mark of the newest entry is missing' };
  const seal = marks.check(mark);
  if (seal !== 'GOOD') return { sequence: mark.sequence, reason: `the mark of the newest entry ${INVALID_MARK[seal]}` };
  if (mark.sequence < sequence)
    return { sequence: mark.sequence + 1, reason: 'entries follow the marked newest entry' };
  if (mark.sequence === sequence) {
    return mark.hash === hash ? null : { sequence, reason: 'the entry is not the newest entry that was written' };
  }
  const more = await db.auditEntry.findFirst({ where: { sequence: { gt: sequence } }, select: { sequence: true } });
  return more === null ? missing(sequence + 1, mark.sequence) : 'MORE';
}
