import { sqltag as sql } from '@prisma/client/runtime/client';
import type { Prisma, Problem } from '../../../generated/sqlite/client.ts';
import { newId } from '../../../platform/ids.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { isForeignKeyViolation, isUniqueViolation } from '../../../platform/storage/prisma-errors.ts';
import { type Statement, statementsOf, storable, textOf } from '../../../protocol/problems/problem-statements.ts';
import type { Transition } from '../model/hysteresis.ts';
import { type FactScope, MAX_TEXT, type ProblemFact, severityOf } from '../model/problem-fact.ts';
import { severityRank } from '../model/problem-kinds.ts';
import { PROBLEM_CHANGED, type ProblemCache, type ProblemRecord } from './problem-cache.ts';

interface ProblemStoreOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly cache: ProblemCache;
}

/** `before`: what a closing states before the detail, if its cause is another one than that the fact is gone. */
export type ScopedTransition = Transition & { readonly scope: FactScope; readonly before?: Statement };

/** A problem that appears again within this time after it was closed is opened again, with its acknowledgement. */
const REOPENS_MS = 10 * 60_000;
/** Ids in one announcement: 3,100 bytes. Beyond 4,000 bytes all problems would be announced. */
const MAX_ANNOUNCED = 100;
/** In a transaction, during which other statements of SQLite wait. */
const BATCH = 50;
const MAX_UNWRITTEN = 5_000;
const COUNTER = { id: 1 } as const;

/**
 * Writes problems, and a row of ProblemChange for each opening and closing, and when one becomes more severe. Several
 * processes may write; of one problem at most one is open. Errors of all methods: those of the database.
 */
export class ProblemStore {
  readonly #options: ProblemStoreOptions;
  readonly #unwritten: WrittenRow[] = [];
  #dropped = 0;

  constructor(options: ProblemStoreOptions) {
    this.#options = options;
  }

  /** Takes transitions, which the cache shows immediately. `flush` writes them. */
  take(transitions: readonly ScopedTransition[], at: Date): void {
    for (const transition of transitions) {
      const row = this.#rowAfter(transition, at);
      if (row === null) continue;
      if (this.#unwritten.length >= MAX_UNWRITTEN) this.#dropped += 1;
      else {
        this.#options.cache.put(row.after);
        this.#unwritten.push(row);
      }
    }
  }

  /**
   * Writes what was taken, in order. If the database is away, it remains for the next call, at most MAX_UNWRITTEN;
   * later ones are dropped, and their facts are taken again. Returns how many were dropped since the last call.
   */
  async flush(): Promise<number> {
    const written = new Set<string>();
    try {
      while (this.#unwritten.length > 0) {
        const rows = this.#unwritten.slice(0, BATCH);
        await this.#writeAll(rows);
        this.#unwritten.splice(0, rows.length);
        for (const { after } of rows) written.add(after.id);
      }
    } finally {
      await this.#announce([...written]);
    }
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /** Notes that the facts of open problems are still there, with their present details. Not while `take` waits. */
  async seen(facts: ReadonlyMap<string, ProblemFact>, at: Date): Promise<void> {
    const { db, changes, cache } = this.#options;
    const texts: Record<string, ReturnType<typeof textsOf>> = {};
    const records = [...facts].flatMap(([key, fact]) => {
      const known = cache.openWithKey(key);
      if (known === null) return [];
      texts[known.id] = textsOf(fact);
      return { ...known, ...texts[known.id], lastSeenAt: at };
    });
    if (records.length === 0) return;
    // One statement for both engines, however many problems are open.
    await db.$executeRaw(sql`
      UPDATE "Problem" SET "lastSeenAt" = ${at}, "subjectName" = seen."value" ->> 'subjectName',
        "detail" = seen."value" ->> 'detail', "statements" = seen."value" ->> 'statements',
        "whatWouldHelp" = seen."value" ->> 'whatWouldHelp'
      FROM json_each(${JSON.stringify(texts)}) AS seen WHERE "Problem"."id" = seen."key"`);
    for (const record of records) cache.put(record);
    await changes.announce(PROBLEM_CHANGED, cache.seenAt(at));
  }

  /** As they are stored now: the cache has what another process wrote only after its announcement. */
  async read(ids: readonly string[]): Promise<ProblemRecord[]> {
    return (await this.#options.db.problem.findMany({ where: { id: { in: [...ids] } } })) as ProblemRecord[];
  }

  async update(id: string, data: Prisma.ProblemUpdateManyMutationInput): Promise<ProblemRecord | null> {
    const { db, cache } = this.#options;
    await db.problem.updateMany({ where: { id }, data });
    const row = await db.problem.findUnique({ where: { id } });
    if (row === null) return null;
    const record = cache.put(row);
    await this.#announce([id]);
    return record;
  }

  #rowAfter(transition: ScopedTransition, at: Date): WrittenRow | null {
    const { cache } = this.#options;
    const { key, scope } = transition;
    const open = cache.openWithKey(key);
    if (transition.change === 'CLOSE') {
      const { before } = transition;
      const detail = open === null || before === undefined ? {} : detailAfter(before, open);
      return open && { before: open, after: { ...open, ...detail, openKey: null, closedAt: at }, change: 'CLOSED' };
    }
    // Closed meanwhile, also by an earlier transition: if the fact is still there, it opens again as one that lasts.
    if (transition.change === 'REPEAT' && open === null) return null;
    const severity = severityOf(transition.fact);
    const seen = { ...textsOf(transition.fact), severity, lastSeenAt: at };
    if (open !== null) {
      const times = transition.change === 'REPEAT' ? transition.times : 1;
      const change = severityRank(severity) > severityRank(open.severity) ? 'OPENED' : null;
      return { before: open, after: { ...open, ...seen, count: open.count + times }, change };
    }
    const closed = cache.lastClosedWithKey(key);
    if (closed?.closedAt != null && at.getTime() - closed.closedAt.getTime() < REOPENS_MS) {
      const after = { ...closed, ...seen, count: closed.count + 1, openKey: key, closedAt: null };
      return { before: closed, after, change: 'OPENED' };
    }
    return { before: null, after: newRow(key, transition.fact, scope, at), change: 'OPENED' };
  }

  async #writeAll(rows: readonly WrittenRow[]): Promise<void> {
    try {
      await this.#write(rows);
    } catch (error) {
      if (!isConflict(error)) throw error;
      for (const row of rows) await this.#writeAlone(row);
    }
  }

  async #write(rows: readonly WrittenRow[]): Promise<void> {
    await this.#options.db.$transaction(async (tx) => {
      const created = rows.filter(({ before }) => before === null).map(({ after }) => after);
      if (created.length > 0) await tx.problem.createMany({ data: created });
      const noted = new Set(rows);
      for (const row of rows) {
        const { before, after, change } = row;
        if (before === null) continue;
        const { id, ...data } = after;
        // Another process may have made the same change: then the announcement corrects the cache.
        const { openKey, severity } = before;
        const where = { id, openKey, ...(change !== null && { severity }) };
        const { count } = await tx.problem.updateMany({ where, data: ownData(data) });
        if (count === 0) noted.delete(row);
      }
      await addChanges(tx, [...noted]);
    });
  }

  /** The problem may have been opened by another process, which announces it late or never, or its owner deleted. */
  async #writeAlone(row: WrittenRow): Promise<void> {
    try {
      await this.#write([row]);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const { db, cache } = this.#options;
      if (row.before === null) cache.drop(row.after.id);
      const open = await db.problem.findUnique({ where: { openKey: row.after.key } });
      if (open !== null) cache.put(open);
    }
  }

  async #announce(ids: readonly string[]): Promise<void> {
    const { changes } = this.#options;
    for (let from = 0; from < ids.length; from += MAX_ANNOUNCED)
      await changes.announce(PROBLEM_CHANGED, ids.slice(from, from + MAX_ANNOUNCED).join(' '));
  }
}

interface WrittenRow {
  readonly before: Problem | null;
  readonly after: Problem;
  readonly change: 'OPENED' | 'CLOSED' | null;
}

/** The columns that facts decide: an acknowledgement may be written at the same time. */
const ownData = ({ openKey, closedAt, lastSeenAt, count, severity, ...row }: Omit<Problem, 'id'>) => ({
  ...{ openKey, closedAt, lastSeenAt, count, severity },
  ...{ subjectName: row.subjectName, detail: row.detail, statements: row.statements },
  ...{ whatWouldHelp: row.whatWouldHelp },
});

/** The row of the counter is locked until the end of the transaction, so that sequences become visible in order. */
async function addChanges(tx: Prisma.TransactionClient, rows: readonly WrittenRow[]): Promise<void> {
  const noted = rows.filter(({ change }) => change !== null);
  if (noted.length === 0) return;
  const { value } = await tx.problemCounter.upsert({
    where: COUNTER,
    create: { ...COUNTER, value: noted.length },
    update: { value: { increment: noted.length } },
  });
  const data = noted.map(({ after, change }, nth) => ({
    sequence: value - noted.length + 1 + nth,
    problemId: after.id,
    change: change ?? '',
    severity: after.severity,
    at: after.closedAt ?? after.lastSeenAt,
  }));
  await tx.problemChange.createMany({ data });
}

const newRow = (key: string, fact: ProblemFact, { projectId, brokerId, brokerName }: FactScope, at: Date): Problem => ({
  id: newId('problem'),
  kind: fact.kind,
  severity: severityOf(fact),
  ...textsOf(fact),
  projectId,
  brokerId,
  brokerName: brokerName ?? null,
  subjectId: fact.subjectId,
  key,
  openKey: key,
  openedAt: at,
  closedAt: null,
  lastSeenAt: at,
  count: 1,
  acknowledgedAt: null,
  acknowledgedBy: null,
  acknowledgedNote: null,
});

const textsOf = (fact: ProblemFact) => ({
  subjectName: storable(fact.subjectName, MAX_TEXT),
  detail: storable(textOf(fact.statements), MAX_TEXT),
  statements: JSON.stringify(fact.statements),
  whatWouldHelp: fact.whatWouldHelp === undefined ? null : storable(fact.whatWouldHelp, MAX_TEXT),
});

function detailAfter(first: Statement, problem: ProblemRecord) {
  const known = statementsOf(problem);
  return {
    detail: storable(`${textOf([first])} ${problem.detail}`, MAX_TEXT),
    statements: known.length === 0 ? null : JSON.stringify([first, ...known]),
  };
}

const isConflict = (error: unknown): boolean => isUniqueViolation(error) || isForeignKeyViolation(error);
