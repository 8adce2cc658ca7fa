import { join, raw, sqltag as sql } from '@prisma/client/runtime/client';
import type { Logger } from 'pino';
import type { AuditEntry, AuditMark, Prisma } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isTransactionConflict, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { type ChainPosition, COLUMNS, chained, GENESIS, type Marks, type UnchainedEntry } from './audit-chain.ts';

const STORED_COLUMNS = [...COLUMNS, 'hash'] as const;

/** Longest wait for a connection, and longest duration with the wait for other processes, in milliseconds. */
const TIMEOUTS = { maxWait: 30_000, timeout: 30_000 } as const;

/** `last`: the largest sequence, which may lack entries that another process has just committed with their mark. */
type Head = AuditMark & { readonly last: number | bigint | null };

/** Updates and returns the mark of the end: a statement of both databases that locks the row and changes nothing. */
const LOCKED_HEAD = sql`
  UPDATE "AuditMark" SET "name" = "name" WHERE "name" = 'head'
  RETURNING "name", "sequence", "hash", "seal", (SELECT max("sequence") FROM "AuditEntry") AS "last"`;

interface ChainWriterOptions {
  readonly db: Database;
  /** Whether the rows of pending changes are deleted with their entries. Default: false. */
  readonly endsPending?: boolean;
  readonly marks: Marks;
  readonly log: Logger;
}

/** The end of the chain, and why it is not what this service has written; `null` if it is. */
interface FoundEnd {
  readonly position: ChainPosition;
  readonly problem: string | null;
}

/**
 * Appends batches of entries to the chain. Several processes append to one chain: each transaction locks the mark of
 * its end first, so processes wait for each other and none writes in vain. After tampering the next entry follows the
 * mark or no entry, which remains visible.
 */
export class ChainWriter {
  readonly #options: ChainWriterOptions;
  #written: ChainPosition = GENESIS;

  constructor(options: ChainWriterOptions) {
    this.#options = options;
  }

  /** Returns the new end of the chain. Errors: those of the database; the entries may be written nevertheless. */
  async write(entries: readonly UnchainedEntry[]): Promise<ChainPosition> {
    let left = entries;
    for (;;) {
      try {
        this.#written =
          (await this.#continue(left)) ??
          (await this.#options.db.$transaction((tx) => this.#append(tx, left), TIMEOUTS));
        return this.#written;
      } catch (error) {
        if (!isUniqueViolation(error) && !isTransactionConflict(error)) throw error;
        // Another process wrote the first entry, or this transaction was committed and only the response was lost.
        left = await this.#notWritten(left);
        if (left.length === 0) return this.#written;
      }
    }
  }

  async head(): Promise<ChainPosition> {
    const { db } = this.#options;
    const mark = await db.auditMark.findUnique({ where: { name: 'head' } });
    return (await this.#found(db, mark && { ...mark, last: null })).position;
  }

  /**
   * On PostgreSQL, one statement instead of the six of `#append`. Returns `null` if the end of the chain is not what
   * this process has written last.
   */
  async #continue(entries: readonly UnchainedEntry[]): Promise<ChainPosition | null> {
    const { db, endsPending, marks } = this.#options;
    if (!endsPending || this.#written === GENESIS) return null;
    const rows = chained(entries, this.#written);
    const { sequence, hash } = rows.at(-1) as AuditEntry;
    const [known, next] = [marks.of('head', this.#written), marks.of('head', { sequence, hash })];
    const names = raw(STORED_COLUMNS.map((column) => `"${column}"`).join(', '));
    const values = rows.map((row) => sql`(${join(STORED_COLUMNS.map((name) => typed(name, row[name])))})`);
    const written = await db.$executeRaw(sql`
      WITH "head" AS (
        UPDATE "AuditMark" SET "sequence" = ${sequence}, "hash" = ${hash}, "seal" = ${next.seal}
        WHERE "name" = 'head' AND "sequence" = ${known.sequence} AND "hash" = ${known.hash} AND "seal" = ${known.seal}
          AND (SELECT max("sequence") FROM "AuditEntry") = ${known.sequence}
        RETURNING "name"
      ), "ended" AS (
        DELETE FROM "PendingChange"
        WHERE "id" IN (${join(rows.map(({ id }) => id))}) AND EXISTS (SELECT FROM "head")
      )
      INSERT INTO "AuditEntry" (${names})
      SELECT * FROM (VALUES ${join(values)}) AS "next" WHERE EXISTS (SELECT FROM "head")`);
    return written === 0 ? null : { sequence, hash };
  }

  async #append(tx: Prisma.TransactionClient, entries: readonly UnchainedEntry[]): Promise<ChainPosition> {
    const [head = null] = await tx.$queryRaw<readonly Head[]>(LOCKED_HEAD);
    const rows = chained(entries, await this.#end(tx, head));
    const { sequence, hash } = rows.at(-1) as AuditEntry;
    const { name, ...mark } = this.#options.marks.of('head', { sequence, hash });
    await insertRows(tx, 'AuditEntry', STORED_COLUMNS, rows);
    if (this.#options.endsPending)
      await tx.pendingChange.deleteMany({ where: { id: { in: rows.map(({ id }) => id) } } });
    if (head === null) await tx.auditMark.create({ data: { name, ...mark } });
    else await tx.auditMark.updateMany({ where: { name }, data: mark });
    return { sequence, hash };
  }

  async #end(tx: Prisma.TransactionClient, head: Head | null): Promise<ChainPosition> {
    const { position, problem: found } = await this.#found(tx, head);
    const wasRolledBack = position.sequence < this.#written.sequence;
    const problem = wasRolledBack ? 'it was rolled back' : found;
    if (problem !== null) {
      const advice = 'Verify it with verifyAudit; the following entries show the gap';
      const { log } = this.#options;
      log.error({ sequence: position.sequence }, `the audit was tampered with: ${problem}. ${advice}`);
    }
    // Continuing after the written position makes the gap permanently visible.
    return wasRolledBack ? this.#written : position;
  }

  async #found(db: Prisma.TransactionClient, head: Head | null): Promise<FoundEnd> {
    const last = Number(head?.last ?? (await db.auditEntry.aggregate({ _max: { sequence: true } }))._max.sequence ?? 0);
    if (head === null) {
      const position = { ...GENESIS, sequence: last };
      return { position, problem: last === 0 ? null : 'the mark of its end is missing' };
    }
    const { sequence, hash } = head;
    const seal = this.#options.marks.check(head);
    if (seal !== 'GOOD') {
      const problem = seal === 'BAD' ? 'the mark of its end is forged' : 'its end was marked with another SECRET_KEY';
      return { position: { ...GENESIS, sequence: Math.max(last, sequence) }, problem };
    }
    const problem = last > sequence ? 'entries follow its marked end' : null;
    return { position: { sequence: Math.max(last, sequence), hash }, problem };
  }

  /**
   * An entry that another process wrote with the result UNKNOWN, because this one did not respond for a while, is
   * written again with its result and an id that follows from the first, so that repeating it changes nothing.
   */
  async #notWritten(entries: readonly UnchainedEntry[]): Promise<readonly UnchainedEntry[]> {
    const where = { id: { in: entries.map(({ id }) => id) } };
    const written = await this.#options.db.auditEntry.findMany({ where, select: { id: true, result: true } });
    const results = new Map(written.map(({ id, result }) => [id, result]));
    return entries.flatMap((entry) => {
      const result = results.get(entry.id);
      if (result === undefined) return [entry];
      return result === 'UNKNOWN' && entry.result !== 'UNKNOWN' ? [{ ...entry, id: `${entry.id}_result` }] : [];
    });
  }
}

/** A value of a list that has no types of columns: those of others are texts. */
function typed(column: (typeof STORED_COLUMNS)[number], value: string | number | Date | null) {
  if (column === 'sequence') return sql`${value}::int`;
  return column === 'at' ? sql`${value}::timestamp` : sql`${value}`;
}

type ColumnValue = string | number | Date | null;

/**
 * Inserts rows in one statement, with a parameter for each value: at most 32,766. Takes a fraction of the processor
 * time of Prisma's `createMany`, which was most of the time of a small mutation. Errors: see `isUniqueViolation`.
 */
function insertRows<Column extends string>(
  db: Pick<Database, '$executeRaw'>,
  table: string,
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, ColumnValue>>[],
) {
  const names = raw(columns.map((column) => `"${column}"`).join(', '));
  const values = join(rows.map((row) => sql`(${join(columns.map((column) => row[column]))})`));
  return db.$executeRaw(sql`INSERT INTO ${raw(`"${table}"`)} (${names}) VALUES ${values}`);
}
