import { setImmediate as others } from 'node:timers/promises';
import type { Database } from '../../platform/storage/database.ts';
import { ChainCheck, type ChainPlace, type ChainProblem, GENESIS, type Marks, missing } from './audit-chain.ts';
import { missingIn } from './audit-witness.ts';

/** Entries in memory at once; some have what is kept of a large input. */
export const PAGE = 250;
/** Further problems are counted, and not told. */
const MAX_PROBLEMS = 100;

export interface AuditVerification {
  readonly isIntact: boolean;
  /** Entries that were looked at. */
  readonly checked: number;
  /** Before the first of them. */
  readonly start: ChainPlace;
  /** The newest that was looked at. */
  readonly head: ChainPlace;
  /** The first MAX_PROBLEMS. */
  readonly problems: readonly ChainProblem[];
  readonly problemCount: number;
}

/**
 * Follows the chain from its start mark to its head mark. Shows whatever was changed, removed, put in or moved by somebody without the
 * secret key; what nobody can see in a database alone is that all of it was set back to what it was once: that is what `expected` is for,
 * a hash that was kept elsewhere and has to be in the chain, and `seen`, a place that this process saw written.
 */
export async function verifyChain(
  db: Database,
  marks: Marks,
  expected: string | null,
  seen: ChainPlace | null = null,
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
    // SQLite answers within the turn: nothing else would run until the end.
    await others();
    const page = await db.auditEntry.findMany({
      where: { sequence: { gt: check.place.sequence } },
      orderBy: { sequence: 'asc' },
      take: PAGE,
    });
    const [first] = page;
    if (first === undefined) {
      const problem = await problemAtEnd(db, marks, check.place);
      if (problem === 'MORE') continue;
      report(problem);
      break;
    }
    if (first.sequence !== check.place.sequence + 1 && problemCount === 0) {
      // Old ones may have been removed while we looked.
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
  const { place } = check;
  report(await missingIn(db, marks, seen));
  if (!isFound) report({ sequence: place.sequence, reason: 'the hash that was expected is not in the chain' });
  return { isIntact: problemCount === 0, checked: check.checked, start, head: place, problems, problemCount };
}

type Report = (problem: ChainProblem) => void;

async function markOf(db: Database, marks: Marks, name: 'start', report: Report): Promise<ChainPlace> {
  const mark = await db.auditMark.findUnique({ where: { name } });
  if (mark === null) return GENESIS;
  const { sequence, hash } = mark;
  const seal = marks.check(mark);
  if (seal !== 'GOOD') report({ sequence, reason: `the mark where the kept entries begin ${MADE[seal]}` });
  return { sequence, hash };
}

const MADE = {
  BAD: 'was not made by this service',
  OTHER_KEY: 'was made with another SECRET_KEY',
} as const;

/** `MORE`: entries were written since the last page was read; they are written together with the mark. */
async function problemAtEnd(db: Database, marks: Marks, place: ChainPlace): Promise<ChainProblem | 'MORE' | null> {
  const { sequence, hash } = place;
  const mark = await db.auditMark.findUnique({ where: { name: 'head' } });
  if (mark === null) return sequence === 0 ? null : { sequence, reason: 'the mark of the newest entry is missing' };
  const seal = marks.check(mark);
  if (seal !== 'GOOD') return { sequence: mark.sequence, reason: `the mark of the newest entry ${MADE[seal]}` };
  if (mark.sequence < sequence)
    return { sequence: mark.sequence + 1, reason: 'there are entries behind the newest one' };
  if (mark.sequence === sequence) {
    return mark.hash === hash ? null : { sequence, reason: 'it is not the newest entry that was written' };
  }
  const more = await db.auditEntry.findFirst({ where: { sequence: { gt: sequence } }, select: { sequence: true } });
  return more === null ? missing(sequence + 1, mark.sequence) : 'MORE';
}
