import { randomUUID } from 'node:crypto';
import { sqltag as sql } from '@prisma/client/runtime/client';
import type { Logger } from 'pino';
import { within } from '../../platform/scheduling/within.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { Lease, Leases } from '../../platform/storage/leases/leases.ts';
import type { UnchainedEntry } from './audit-chain.ts';

/** Longest delay of a change by its row. Beyond it the change starts with the journal in the data folder only. */
const BEGIN_MS = 5_000;
const SWEEP_MS = 10_000;
const CHUNK = 200;

interface PendingChangesOptions {
  readonly db: Database;
  readonly leases: Leases;
  readonly sealer: Pick<Sealer, 'sign' | 'verify'>;
  /** Appends entries, and deletes their rows in the same transaction. */
  readonly append: (entries: readonly UnchainedEntry[]) => Promise<unknown>;
  readonly log: Logger;
}

/**
 * The pending changes of all processes on one PostgreSQL, a row for each. A process that has a row has the lease
 * `process:<id>`. Every SWEEP_MS each process looks for rows that are older than SWEEP_MS, and takes the lease of their
 * process: if it gets it, that process is gone, and the changes become entries with the result UNKNOWN.
 *
 * A row is committed without a wait for the disk of the database, so it survives a crash of the process but not one of
 * the database server. Rows are signed, because they become entries. Errors are logged: a change does not fail because
 * its row cannot be written.
 */
export class PendingChanges {
  readonly #options: PendingChangesOptions;
  readonly #processId = randomUUID();
  #lease: Lease | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sweep: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: PendingChangesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#sweep = this.#sweep.then(() => this.sweep());
    }, SWEEP_MS).unref();
  }

  async begin(entry: UnchainedEntry): Promise<void> {
    const { db, leases, sealer, log } = this.#options;
    try {
      if (this.#lease === null) {
        this.#lease = leases.want(leaseOf(this.#processId), () => undefined);
        await this.#lease.attempt();
      }
      const text = JSON.stringify(entry);
      const seal = sealer.sign(text, contextOf(entry.id));
      const insert = db.$executeRaw(sql`
        WITH "quick" AS (SELECT set_config('synchronous_commit', 'off', true))
        INSERT INTO "PendingChange" ("id", "processId", "begunAt", "entry", "seal")
        SELECT ${entry.id}, ${this.#processId}, clock_timestamp() AT TIME ZONE 'UTC', ${text}, ${seal} FROM "quick"`);
      await within(BEGIN_MS, Promise.resolve(insert), () => new Error(`not written within ${BEGIN_MS} ms`));
    } catch (error) {
      log.warn({ err: error }, 'a change begins without a row in the database');
    }
  }

  /** For changes that become no entry of their own. */
  async end(id: string): Promise<void> {
    try {
      await this.#options.db.pendingChange.deleteMany({ where: { id } });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the row of a change could not be deleted');
    }
  }

  /** Records the changes of processes that are gone. `minimumAgeMs` is measured by the clock of the database. */
  async sweep(minimumAgeMs = SWEEP_MS): Promise<void> {
    const { db, leases, log } = this.#options;
    try {
      const others = await db.$queryRaw<readonly { readonly processId: string }[]>(sql`
        SELECT DISTINCT "processId" FROM "PendingChange"
        WHERE "processId" <> ${this.#processId} AND "begunAt" <= clock_timestamp() AT TIME ZONE 'UTC'
          - ${minimumAgeMs}::float8 * interval '1 millisecond' LIMIT ${CHUNK}`);
      for (const { processId } of others) {
        if (this.#isClosed) return;
        const lease = leases.want(leaseOf(processId), () => undefined);
        try {
          if (await lease.attempt()) await this.#recover(processId);
        } finally {
          await lease.release();
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'changes of processes that are gone could not be recorded');
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#sweep;
    await this.#lease?.release();
  }

  async #recover(processId: string): Promise<void> {
    const { db, sealer, append, log } = this.#options;
    for (let after = ''; ; ) {
      const where = { processId, id: { gt: after } };
      const rows = await db.pendingChange.findMany({ where, orderBy: { id: 'asc' }, take: CHUNK });
      if (rows.length === 0 || this.#isClosed) return;
      after = rows.at(-1)?.id ?? '';
      const ids = rows.map(({ id }) => id);
      const entries = await db.auditEntry.findMany({ where: { id: { in: ids } }, select: { id: true } });
      const written = new Set(entries.map(({ id }) => id));
      const missing = rows.filter(({ id }) => !written.has(id));
      const isGenuine = ({ id, entry, seal }: (typeof rows)[number]) =>
        sealer.verify(entry, contextOf(id), seal) === 'GOOD';
      const genuine = missing.filter(isGenuine);
      if (genuine.length < missing.length) {
        const count = missing.length - genuine.length;
        log.error({ count }, 'pending changes in the database were changed or have another SECRET_KEY; not recorded');
      }
      if (genuine.length > 0) {
        const text = 'a process ended during changes; they are recorded in the audit with the result UNKNOWN';
        log.warn({ count: genuine.length }, text);
      }
      await append(genuine.map(({ entry }) => entryOfText(entry)));
      // Left by the file journal of a restarted process. Others are deleted when their entry is written.
      await db.pendingChange.deleteMany({ where: { id: { in: [...written] } } });
    }
  }
}

const leaseOf = (processId: string): string => `process:${processId}`;
const contextOf = (id: string): string => `audit/pending/${id}`;

function entryOfText(text: string): UnchainedEntry {
  const entry = JSON.parse(text) as UnchainedEntry;
  return { ...entry, at: new Date(entry.at) };
}
