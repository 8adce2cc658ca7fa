import type { Logger } from 'pino';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isTransactionConflict, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { type ChainPlace, chained, GENESIS, type Marks, type UnchainedEntry } from './audit-chain.ts';

/** Entries of one transaction. */
const MAX_BATCH = 200;
/** Entries that may wait while the database cannot be written. */
export const MAX_WAITING = 10_000;
const RETRY_MS = 1_000;
/** When the service ends, entries get so many more attempts. */
const LAST_ATTEMPTS = 3;

export interface AuditLogOptions {
  readonly db: Database;
  readonly marks: Marks;
  readonly log: Logger;
  /** Told after each commit where the chain ended then. */
  readonly onHead?: (place: ChainPlace) => void;
  /** Told after entries were committed, or given up when the service ends. */
  readonly onSettled: (entries: readonly UnchainedEntry[], written: boolean) => void;
}

interface Waiting {
  readonly entry: UnchainedEntry;
  readonly settle: () => void;
  isTold: boolean;
}

/**
 * Writes entries behind the newest one, in the order in which they come: what came while one transaction was under way goes into the
 * next. Several processes write one chain: the place in it is the primary key, so of two that write behind the same entry the
 * second is refused, reads where the chain ends now and writes there.
 *
 * What cannot be written is kept, MAX_WAITING entries at most (`isFull` then, and changes are to be refused), and tried again; who
 * waits for it is let go after the first failure, which is logged with what should have been written.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  #waiting: Waiting[] = [];
  #head: ChainPlace | null = null;
  /** The newest that was written here. */
  #written: ChainPlace = GENESIS;
  #last: Promise<void> = Promise.resolve();
  #writing: Promise<void> | null = null;
  #isClosing = false;
  #isFailing = false;
  #failedWrites = 0;
  #wake: (() => void) | null = null;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Entries that are not committed yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Transactions that failed, so far. */
  get failedWrites(): number {
    return this.#failedWrites;
  }

  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Resolves when the entry is written, or could not be at first. Never rejects. */
  append(entry: UnchainedEntry): Promise<void> {
    this.#last = new Promise((settle) => {
      this.#waiting.push({ entry, settle, isTold: false });
      this.#writing ??= this.#run();
    });
    return this.#last;
  }

  /** Where the chain ends, as the database has it, once what waits is written or could not be at first. */
  async head(): Promise<ChainPlace> {
    await this.#last;
    return (await this.#readHead()).place;
  }

  /** What waits is written before, if that is possible. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wake?.();
    await this.#writing;
  }

  async #run(): Promise<void> {
    // What comes in the same turn goes into one transaction.
    await new Promise<void>((resolve) => setImmediate(resolve));
    let lastAttempts = LAST_ATTEMPTS;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await this.#write(batch.map(({ entry }) => entry));
        this.#isFailing = false;
        this.#settle(batch, true);
      } catch (error) {
        this.#failed(error);
        if (this.#isClosing && --lastAttempts <= 0) {
          while (this.#waiting.length > 0) this.#settle(this.#waiting.slice(0, MAX_BATCH), false);
          break;
        }
        await this.#pause();
      }
    }
    this.#writing = null;
  }

  #settle(batch: readonly Waiting[], written: boolean): void {
    this.#waiting = this.#waiting.slice(batch.length);
    this.#options.onSettled(
      batch.map(({ entry }) => entry),
      written,
    );
    for (const { settle } of batch) settle();
  }

  #failed(error: unknown): void {
    const { log } = this.#options;
    this.#head = null;
    this.#failedWrites += 1;
    if (!this.#isFailing) log.error({ err: error }, 'audit entries cannot be written; they are kept and tried again');
    this.#isFailing = true;
    for (const waiting of this.#waiting) {
      if (waiting.isTold) continue;
      waiting.isTold = true;
      log.error({ audit: waiting.entry }, 'an audit entry could not be written');
      waiting.settle();
    }
  }

  async #write(entries: readonly UnchainedEntry[]): Promise<void> {
    const { db, marks } = this.#options;
    let left = entries;
    for (;;) {
      this.#head ??= await this.#placeToWrite();
      const rows = chained(left, this.#head);
      const { sequence, hash } = rows.at(-1) as AuditEntry;
      const { name, ...mark } = marks.of('head', { sequence, hash });
      try {
        const move = () => db.auditMark.upsert({ where: { name }, create: { name, ...mark }, update: mark });
        // Nobody else wrote meanwhile, or the entries would be refused: the mark is where it was.
        const where = { name, sequence: this.#head.sequence };
        const [, moved] = await db.$transaction([
          db.auditEntry.createMany({ data: rows }),
          where.sequence === GENESIS.sequence ? move() : db.auditMark.updateMany({ where, data: mark }),
        ]);
        if ('count' in moved && moved.count === 0) {
          this.#tampered(where.sequence, 'its end is not where this process left it');
          await move();
        }
        this.#head = { sequence, hash };
        this.#written = this.#head;
        this.#options.onHead?.(this.#head);
        return;
      } catch (error) {
        if (!isUniqueViolation(error) && !isTransactionConflict(error)) throw error;
        this.#head = null;
        // Another process was faster; or it was us, and only the answer was lost.
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

  async #placeToWrite(): Promise<ChainPlace> {
    const { place, problem: found } = await this.#readHead();
    const wentBack = place.sequence < this.#written.sequence;
    const problem = wentBack ? 'it was set back' : found;
    if (problem !== null) this.#tampered(place.sequence, problem);
    // What is missing before it shows for ever.
    return wentBack ? this.#written : place;
  }

  #tampered(sequence: number, problem: string): void {
    const { log } = this.#options;
    log.error(
      { sequence },
      `the audit was tampered with: ${problem}. Verify it; what is written now does not follow it`,
    );
  }

  /**
   * Where to go on. Where that is not what this service left, the chain must not close over it: the next entry then follows what the
   * mark says, or nothing at all, which shows for ever.
   */
  async #readHead(): Promise<{ readonly place: ChainPlace; readonly problem: string | null }> {
    const { db, marks } = this.#options;
    // In this order: meanwhile others write entries and the mark together.
    const { _max } = await db.auditEntry.aggregate({ _max: { sequence: true } });
    const last = _max.sequence ?? 0;
    const mark = await db.auditMark.findUnique({ where: { name: 'head' } });
    if (mark === null && last === 0) return { place: GENESIS, problem: null };
    if (mark === null) return { place: { ...GENESIS, sequence: last }, problem: 'its end is not marked' };
    const seal = marks.check(mark);
    if (seal !== 'GOOD') {
      const problem =
        seal === 'BAD' ? 'its end is marked by somebody else' : 'its end was marked with another SECRET_KEY';
      return { place: { ...GENESIS, sequence: Math.max(last, mark.sequence) }, problem };
    }
    if (last > mark.sequence) {
      return { place: { sequence: last, hash: mark.hash }, problem: 'there are entries behind its end' };
    }
    return { place: { sequence: mark.sequence, hash: mark.hash }, problem: null };
  }

  #pause(): Promise<void> {
    if (this.#isClosing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
