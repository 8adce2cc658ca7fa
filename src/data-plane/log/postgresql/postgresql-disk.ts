import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { messageOf } from '../../../platform/errors.ts';
import type {
  DiskLog,
  Erased,
  LogBatch,
  LogDisk,
  LogOwner,
  OpenedLogs,
  PageOptions,
  PageRange,
  Verdict,
} from '../log-disk.ts';
import type { IdRange, StoredMessage } from '../log-message.ts';
import type { LogPart } from '../log-parts.ts';
import { carryOverBatches } from './former-batches.ts';
import { createPartition } from './log-partitions.ts';
import { LogTables } from './log-tables.ts';

const CLOCK_MS = 60_000;
const NO_PARTITION = '23514';
const NO_LOG = '23503';

/**
 * Logs in tables that all brokers share: see decision 0042. While the database does not respond, is full or restarts,
 * messages wait.
 *
 * Each statement changes only the logs whose owner still has its turn. If the result of one is not known, its owners
 * begin the next turn before they repeat it, so that a statement that arrives late changes nothing.
 */
export class PostgresqlDisk implements LogDisk {
  readonly maxBatch = { messages: 8_000, bytes: 2 * 1_048_576 };
  readonly maxErased = { messages: 5_000, bytes: 8 * 1_048_576 };
  readonly erasesExpired = false;
  readonly tables: LogTables;
  /** Owners that do not know the result of their last statement. */
  readonly #unsure = new Set<LogOwner>();
  /** Milliseconds that the clock of the database is ahead of this process. */
  #clockOffset = 0;
  #clockReadAt = Number.NEGATIVE_INFINITY;

  constructor(databaseUrl: string, onLost: (reason: string) => void) {
    this.tables = new LogTables(databaseUrl, (error) => onLost(messageOf(error)));
  }

  now(): number {
    return Date.now() + this.#clockOffset;
  }

  /** Also carries over what an earlier version stored in other tables. */
  async open(brokerId: string): Promise<OpenedLogs> {
    const owner = await this.own(brokerId, brokerId);
    await carryOverBatches(this.tables.pool, owner);
    return { owner, logs: await this.tables.logsOf(brokerId) };
  }

  /** `brokerId`: the broker whose deletion deletes the logs with their messages. Default: none. */
  async own(group: string, key: string, brokerId: string | null = null): Promise<LogOwner> {
    await this.#readClock();
    const name = randomUUID();
    return { group, key, name, turn: await this.tables.open(key, name, brokerId), isTaken: false };
  }

  async write(batches: readonly LogBatch[]): Promise<void> {
    const owners = [...new Set(batches.map(({ log }) => log.owner))];
    const unsure = owners.filter((owner) => this.#unsure.has(owner));
    for (const owner of owners) this.#unsure.add(owner);
    await this.#readClock();
    if (unsure.length > 0) await this.tables.nextTurns(unsure);
    await this.#write(batches.filter(({ log }) => !log.owner.isTaken));
    for (const owner of owners) this.#unsure.delete(owner);
  }

  judge(error: unknown): Verdict {
    // Classes 22 (data exception), 23 (integrity) and 54 (limits): an equal statement would be refused again.
    const isRefusal = error instanceof pg.DatabaseError && /^(22|23|54)/.test(error.code ?? '');
    const reason = messageOf(error);
    return isRefusal
      ? { verdict: 'SPLIT', reason }
      : { verdict: 'WAIT', reason: `Messages wait to be stored: ${reason}` };
  }

  page(log: DiskLog, range: PageRange, options: PageOptions): Promise<StoredMessage[]> {
    return this.tables.page(log, range, options);
  }

  count(log: DiskLog, part: LogPart, range: IdRange): Promise<number> {
    return this.tables.count(log, part, range);
  }

  async erase(log: DiskLog, part: LogPart, range: IdRange, limit: number): Promise<Erased> {
    return this.#sure(log, () => this.tables.erase(log, part, range, limit));
  }

  /** The ttl is that of the stream. */
  keepTtl(): void {}

  async release(log: DiskLog): Promise<void> {
    if (log.number !== null) await this.#sure(log, () => this.tables.release(log));
  }

  async drop(log: DiskLog): Promise<void> {
    if (log.number !== null) await this.#sure(log, () => this.tables.drop(log));
  }

  /** The server uses free space again. */
  shrink(): boolean {
    return true;
  }

  close(): Promise<void> {
    return this.tables.close();
  }

  async #sure<T>({ owner }: DiskLog, work: () => Promise<T>): Promise<T> {
    if (this.#unsure.has(owner)) await this.tables.nextTurns([owner]);
    this.#unsure.add(owner);
    const result = await work();
    this.#unsure.delete(owner);
    return result;
  }

  async #write(batches: readonly LogBatch[]): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      await this.tables.number(batches.map(({ log }) => log));
      try {
        return await this.tables.write(batches);
      } catch (error) {
        const { code = '', constraint } = error instanceof pg.DatabaseError ? error : {};
        const isKnown = (code === NO_PARTITION && constraint === undefined) || code === NO_LOG;
        if (!isKnown || attempt > 1) throw error;
        if (code === NO_LOG) await this.#forgetGone(batches);
        else await this.#createPartitions(batches);
      }
    }
  }

  /** Logs whose rows were deleted get other numbers. */
  async #forgetGone(batches: readonly LogBatch[]): Promise<void> {
    const existing = await this.tables.existing(batches.map(({ log }) => log.number ?? 0));
    for (const { log } of batches) if (log.number !== null && !existing.has(log.number)) log.lose();
  }

  async #createPartitions(batches: readonly LogBatch[]): Promise<void> {
    const parts = new Set(batches.flatMap(({ messages }) => messages.map(({ part }) => part)));
    for (const { width, start } of parts) await createPartition(this.tables.pool, width, start);
  }

  async #readClock(): Promise<void> {
    if (performance.now() - this.#clockReadAt < CLOCK_MS) return;
    const before = Date.now();
    this.#clockOffset = (await this.tables.now()) - (before + Date.now()) / 2;
    this.#clockReadAt = performance.now();
  }
}
