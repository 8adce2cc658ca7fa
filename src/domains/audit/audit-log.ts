import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import { insertRows } from '../../platform/storage/bulk-insert.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isTransactionConflict, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { type ChainPosition, COLUMNS, chained, GENESIS, type Marks, type UnchainedEntry } from './audit-chain.ts';

const MAX_BATCH = 200;
const MAX_WAITING = 10_000;
const RETRY_MS = 1_000;
const LAST_ATTEMPTS = 3;
const STORED_COLUMNS = [...COLUMNS, 'hash'] as const;

interface AuditLogOptions {
  readonly db: Database;
  readonly marks: Marks;
  readonly log: Logger;
  readonly onHead?: (position: ChainPosition) => void;
  readonly onSettled: (entries: readonly UnchainedEntry[], written: boolean) => void;
}

interface Waiting {
  readonly entry: UnchainedEntry;
  readonly settle: () => void;
  isLogged: boolean;
}

/**
 * Appends entries to the chain; those that arrive during a transaction are batched into the next one. Several processes
 * append to one chain: the sequence is the primary key, so the second of two is refused, reads the new end and retries.
 *
 * Callers must refuse changes while `isFull`. The first failure of an entry is logged with its content.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  #waiting: Waiting[] = [];
  #head: ChainPosition | null = null;
  #written: ChainPosition = GENESIS;
  #last: Promise<void> = Promise.resolve();
  #writing: Promise<void> | null = null;
  #isFailing = false;
  failedWrites = 0;
  readonly #closing = new AbortController();

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Resolves when the entry is written, or after its first failure. Never rejects. */
  append(entry: UnchainedEntry): Promise<void> {
    this.#last = new Promise((settle) => {
      this.#waiting.push({ entry, settle, isLogged: false });
      this.#writing ??= this.#run();
    });
    return this.#last;
  }

  /** The end of the chain in the database, after the waiting entries were written or have failed once. */
  async head(): Promise<ChainPosition> {
    await this.#last;
    return (await this.#readHead()).position;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
  }

  async #run(): Promise<void> {
    await nextTurn();
    let lastAttempts = LAST_ATTEMPTS;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await this.#write(batch.map(({ entry }) => entry));
        this.#isFailing = false;
        this.#settle(batch, true);
      } catch (error) {
        this.#failed(error);
        if (this.#closing.signal.aborted && --lastAttempts <= 0) {
          while (this.#waiting.length > 0) this.#settle(this.#waiting.slice(0, MAX_BATCH), false);
          break;
        }
        await delay(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
    this.#writing = null;
  }

  #settle(batch: readonly Waiting[], written: boolean): void {
    this.#waiting = this.#waiting.slice(batch.length);
    const entries = batch.map(({ entry }) => entry);
    this.#options.onSettled(entries, written);
    for (const { settle } of batch) settle();
  }

  #failed(error: unknown): void {
    const { log } = this.#options;
    this.#head = null;
    this.failedWrites += 1;
    if (!this.#isFailing)
      log.error({ err: error }, 'could not write entries of the audit; they stay in the queue and are retried');
    this.#isFailing = true;
    for (const waiting of this.#waiting) {
      if (waiting.isLogged) continue;
      waiting.isLogged = true;
      log.error({ audit: waiting.entry }, 'could not write an entry of the audit');
      waiting.settle();
    }
  }

  async #write(entries: readonly UnchainedEntry[]): Promise<void> {
    const { db, marks } = this.#options;
    let left = entries;
    for (;;) {
      this.#head ??= await this.#positionToWrite();
      const rows = chained(left, this.#head);
      const { sequence, hash } = rows.at(-1) as AuditEntry;
      const { name, ...mark } = marks.of('head', { sequence, hash });
      try {
        const move = () => db.auditMark.upsert({ where: { name }, create: { name, ...mark }, update: mark });
        // If another process had written, the entries would be refused. So the mark must be at the previous position.
        const where = { name, sequence: this.#head.sequence };
        const [, moved] = await db.$transaction([
          insertRows(db, 'AuditEntry', STORED_COLUMNS, rows),
          where.sequence === GENESIS.sequence ? move() : db.auditMark.updateMany({ where, data: mark }),
        ]);
        if ('count' in moved && moved.count === 0) {
          this.#tampered(where.sequence, 'its end is not where this process has written it');
          await move();
        }
        this.#head = { sequence, hash };
        this.#written = this.#head;
        this.#options.onHead?.(this.#head);
        return;
      } catch (error) {
        if (!isUniqueViolation(error) && !isTransactionConflict(error)) throw error;
        this.#head = null;
        // Another process was faster, or this transaction was committed and only the response was lost.
        left = await this.#withoutWritten(left);
        if (left.length === 0) return;
      }
    }
  }

  async #withoutWritten(entries: readonly UnchainedEntry[]): Promise<readonly UnchainedEntry[]> {
    const where = { id: { in: entries.map(({ id }) => id) } };
    const written = await this.#options.db.auditEntry.findMany({ where, select: { id: true } });
    const ids = new Set(written.map(({ id }) => id));
    return entries.filter(({ id }) => !ids.has(id));
  }

  async #positionToWrite(): Promise<ChainPosition> {
    const { position, problem: found } = await this.#readHead();
    const wasRolledBack = position.sequence < this.#written.sequence;
    const problem = wasRolledBack ? 'it was rolled back' : found;
    if (problem !== null) this.#tampered(position.sequence, problem);
    // Continuing after the written position makes the gap permanently visible.
    return wasRolledBack ? this.#written : position;
  }

  #tampered(sequence: number, problem: string): void {
    const advice = 'Verify it with verifyAudit; the following entries show the gap';
    this.#options.log.error({ sequence }, `the audit was tampered with: ${problem}. ${advice}`);
  }

  /** Reads the end of the chain. After tampering the next entry follows the mark or no entry, which remains visible. */
  async #readHead(): Promise<{ readonly position: ChainPosition; readonly problem: string | null }> {
    const { db, marks } = this.#options;
    // The entry before the mark: other processes commit both together.
    const { _max } = await db.auditEntry.aggregate({ _max: { sequence: true } });
    const last = _max.sequence ?? 0;
    const mark = await db.auditMark.findUnique({ where: { name: 'head' } });
    if (mark === null && last === 0) return { position: GENESIS, problem: null };
    if (mark === null) return { position: { ...GENESIS, sequence: last }, problem: 'the mark of its end is missing' };
    const seal = marks.check(mark);
    if (seal !== 'GOOD') {
      const problem = seal === 'BAD' ? 'the mark of its end is forged' : 'its end was marked with another SECRET_KEY';
      return { position: { ...GENESIS, sequence: Math.max(last, mark.sequence) }, problem };
    }
    if (last > mark.sequence) {
      return { position: { sequence: last, hash: mark.hash }, problem: 'entries follow its marked end' };
    }
    return { position: { sequence: mark.sequence, hash: mark.hash }, problem: null };
  }
}
