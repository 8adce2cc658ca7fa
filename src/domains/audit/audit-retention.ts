import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AuditMark } from '../../generated/sqlite/client.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isTransactionConflict, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { ChainCheck, GENESIS, type Marks } from './audit-chain.ts';
import type { AuditFacts } from './audit-event.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 6 * 3_600_000;
/** Small, so that other writers do not wait. */
const CHUNK = 250;

interface AuditRetentionOptions {
  readonly db: Database;
  readonly marks: Marks;
  readonly log: Logger;
  readonly days: number;
  readonly record: (facts: AuditFacts) => Promise<void>;
}

/** Deletes entries older than `days` and moves the signed start mark. Tampered entries and all later ones stay. */
export class AuditRetention {
  readonly #options: AuditRetentionOptions;
  #timer: NodeJS.Timeout | null = null;
  readonly #runs = new ConcurrencyLimit({ maxRunning: 1 });
  #isClosed = false;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.days === 0) return;
    this.#next();
    this.#timer = setInterval(() => this.#next(), EVERY_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#runs.run(async () => undefined);
  }

  async run(now = Date.now()): Promise<number> {
    const before = new Date(now - this.#options.days * DAY_MS);
    let removed = 0;
    let last = 0;
    for (;;) {
      await nextTurn();
      const chunk = this.#isClosed ? null : await this.#removeChunk(before);
      if (chunk === null) break;
      removed += chunk.count;
      last = chunk.last;
    }
    if (removed > 0) {
      const after = { count: removed, lastSequence: last, before };
      await this.#options.record({ operation: 'removeOldAuditEvents', after, result: 'DONE' });
    }
    return removed;
  }

  #next(): void {
    this.#runs
      .run(() => this.run())
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'could not delete old entries of the audit'));
  }

  async #removeChunk(before: Date): Promise<{ readonly count: number; readonly last: number } | null> {
    const { db, marks, log } = this.#options;
    const mark = await db.auditMark.findUnique({ where: { name: 'start' } });
    const start = mark ?? GENESIS;
    const rows = await db.auditEntry.findMany({
      where: { sequence: { gt: start.sequence } },
      orderBy: { sequence: 'asc' },
      take: CHUNK,
    });
    const firstRecent = rows.findIndex(({ at }) => at >= before);
    const old = firstRecent < 0 ? rows : rows.slice(0, firstRecent);
    const check = new ChainCheck(start);
    const isGood = mark === null || marks.check(mark) === 'GOOD';
    let problem = isGood ? null : { sequence: start.sequence, reason: 'the start mark was changed' };
    for (const entry of old) problem ??= check.next(entry);
    if (problem !== null) {
      log.error(problem, 'old entries of the audit are not deleted: they were tampered with');
      return null;
    }
    if (old.length === 0) return null;
    const { position } = check;
    const isDone = await this.#move(mark, marks.of('start', position));
    if (!isDone) return null;
    return { count: old.length, last: position.sequence };
  }

  /** `false` if another process moved the mark at the same time. */
  async #move(from: AuditMark | null, { name, ...to }: AuditMark): Promise<boolean> {
    try {
      return await this.#options.db.$transaction(async (tx) => {
        if (from === null) await tx.auditMark.create({ data: { name, ...to } });
        else {
          const { count } = await tx.auditMark.updateMany({ where: { name, sequence: from.sequence }, data: to });
          if (count === 0) return false;
        }
        await tx.auditEntry.deleteMany({ where: { sequence: { lte: to.sequence } } });
        return true;
      });
    } catch (error) {
      if (isUniqueViolation(error) || isTransactionConflict(error)) return false;
      throw error;
    }
  }
}
