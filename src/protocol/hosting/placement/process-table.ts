import type { Logger } from 'pino';
import type { Process, ProcessRole } from '../../../generated/sqlite/client.ts';
import type { Build } from '../../../platform/build.ts';
import { notFound } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import { Listeners } from '../../../platform/listeners.ts';
import { within } from '../../../platform/scheduling/within.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { isLeaseHeld } from '../../../platform/storage/leases/lease-locks.ts';
import type { Lease, Leases } from '../../../platform/storage/leases/leases.ts';
import { UTC_NOW } from '../../../platform/storage/utc-now.ts';
import { ownerOf } from './owner.ts';

interface ProcessLoad {
  /** Brokers whose stored work runs in the process. */
  readonly brokers: number;
  /** Messages per second of these brokers. */
  readonly messagesPerSecond: number;
}

interface ProcessTableOptions extends Build {
  readonly db: Database;
  readonly leases: Leases;
  readonly changes: Changes;
  readonly log: Logger;
  readonly host: string;
  readonly role: ProcessRole;
  /** Id of the data folder. */
  readonly folderId: string;
  /** Engines with which the process can run brokers at the moment. */
  readonly engines: () => readonly string[];
  readonly load: () => ProcessLoad;
}

/** The kind of announced changes; the ids are those of processes. */
const CHANGED = 'process';
/** The start of the names of the leases that show which processes are there. */
const LOCK = 'process:';
const READ_MS = 1_000;
/** How often a process writes its load, in reads. */
const WRITE_READS = 10;
/** After the own session was lost, those of other processes probably were, too, and come back one after the other. */
const GRACE_MS = 3_000;
/** A process that ended without a shutdown is listed for so long, unless its folder has another one before. */
const LISTED_MS = 86_400_000;
/** Without the database, a shutdown does not wait longer. */
const LEAVE_MS = 2_000;

export type ListedProcess = Omit<Process, 'engines'> & {
  readonly isAlive: boolean;
  readonly engines: readonly string[];
};

/** All processes, oldest first, also for a process that is not in the table. Errors: those of the database. */
export async function listProcesses(db: Database): Promise<readonly ListedProcess[]> {
  const rows = await db.process.findMany({ orderBy: { id: 'asc' } });
  const alive = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM "Process" WHERE ${isLeaseHeld(`'${LOCK}' || id`)}`;
  const ids = new Set(alive.map(({ id }) => id));
  return rows.map((row) => ({ ...row, isAlive: ids.has(row.id), engines: row.engines.split(' ').filter(Boolean) }));
}

/**
 * The processes of the service on one PostgreSQL. A process is there while it holds the lock of its name, so clocks do
 * not matter. Each process reads all of them every second, and decides by the list which brokers are its own. A process
 * that has lost its lock has lost the leases of its brokers with it.
 */
export class ProcessTable {
  readonly id = newId('process');
  readonly #options: ProcessTableOptions;
  readonly #listeners = new Listeners();
  #lease: Lease | null = null;
  /** Those that may have brokers. */
  #members: readonly string[] = [];
  #owners = new Map<string, string | null>();
  #calmUntil = 0;
  #reads = 0;
  #timer: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();
  #stopChanges: () => void = () => undefined;
  #isClosed = false;

  constructor(options: ProcessTableOptions) {
    this.#options = options;
  }

  /** Errors: those of the database. */
  async open(): Promise<void> {
    const { db, leases, changes, folderId } = this.#options;
    let isFirst = true;
    this.#lease = leases.want(`${LOCK}${this.id}`, (isHeld) => {
      if (isHeld && !isFirst) this.#calmUntil = performance.now() + GRACE_MS;
      isFirst = false;
    });
    await this.#lease.attempt();
    // A folder has one process at a time, so those before it have ended.
    await db.process.deleteMany({ where: { folderId, id: { not: this.id } } });
    await this.#write();
    await this.#read();
    this.#stopChanges = changes.on(CHANGED, () => void this.#readInOrder());
    this.#timer = setInterval(() => void this.#readInOrder(), READ_MS).unref();
    await changes.announce(CHANGED, this.id);
  }

  /**
   * Whether processes that do not hold their leases are gone. Not while this process has no session with the database,
   * and soon after it has one again.
   */
  get isCalm(): boolean {
    return this.#lease?.held === true && performance.now() > this.#calmUntil;
  }

  isMine(brokerId: string): boolean {
    let owner = this.#owners.get(brokerId);
    if (owner === undefined) {
      owner = ownerOf(brokerId, this.#members);
      this.#owners.set(brokerId, owner);
    }
    return owner === this.id;
  }

  /** Calls `listener` when brokers may belong to other processes than before. */
  readonly onChange = this.#listeners.add;

  /** Errors: those of the database. */
  list(): Promise<readonly ListedProcess[]> {
    return listProcesses(this.#options.db);
  }

  /** A draining process gives all its brokers away, and gets no others. Errors: NOT_FOUND. */
  async setDraining(id: string, isDraining: boolean): Promise<void> {
    const { db, changes } = this.#options;
    const { count } = await db.process.updateMany({ where: { id }, data: { isDraining } });
    if (count === 0) throw notFound('process', id);
    await this.#readInOrder();
    await changes.announce(CHANGED, id);
  }

  /** Gives all brokers of this process away, which is about to end. Never rejects. */
  async leave(): Promise<void> {
    const left = this.setDraining(this.id, true);
    const late = () => new Error(`the database did not respond within ${LEAVE_MS} ms`);
    await within(LEAVE_MS, left, late).catch((error: unknown) =>
      this.#options.log.debug({ err: error }, 'the brokers of this process move when it has ended'),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const { db, changes, log } = this.#options;
    this.#stopChanges();
    if (this.#timer) clearInterval(this.#timer);
    await this.#reading;
    await db.process
      .deleteMany({ where: { id: this.id } })
      .catch((error: unknown) => log.debug({ err: error }, 'the process could not be removed from its table'));
    await this.#lease?.release();
    await changes.announce(CHANGED, this.id);
  }

  #readInOrder(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      if (this.#isClosed) return;
      try {
        this.#reads += 1;
        if (this.#reads % WRITE_READS === 0) await this.#write();
        await this.#read();
      } catch (error) {
        // The brokers stay where they are. Without the database, leases end by themselves.
        this.#options.log.debug({ err: error }, 'the processes could not be read');
      }
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const rows = await this.list();
    const { isCalm } = this;
    const members = rows
      .filter(({ id, isAlive }) => isAlive || (!isCalm && this.#members.includes(id)))
      .filter(({ role, isDraining }) => role !== 'API' && !isDraining)
      .map(({ id }) => id);
    if (members.join() === this.#members.join()) return;
    this.#members = members;
    this.#owners = new Map();
    this.#listeners.notify();
  }

  /** Writes the load of this process, and deletes the rows of those that are long gone. */
  async #write(): Promise<void> {
    const { db, host, version, commit, builtAt, role, folderId, engines, load } = this.#options;
    const now = load();
    const { id } = this;
    // Processes of the version before read the share. One with ROLE=api has no brokers.
    const share = role === 'API' ? 0 : 1;
    await db.$executeRaw`
      INSERT INTO "Process" (id, host, version, "commit", "builtAt", role, "folderId", engines, share, brokers,
        "messagesPerSecond", "seenAt")
      VALUES (${id}, ${host}, ${version}, ${commit}, ${builtAt}, ${role}::"ProcessRole", ${folderId}, ${engines().join(' ')}, ${share},
        ${now.brokers}, ${now.messagesPerSecond}, ${UTC_NOW})
      ON CONFLICT (id) DO UPDATE SET engines = excluded.engines, share = excluded.share, brokers = excluded.brokers,
        "messagesPerSecond" = excluded."messagesPerSecond", "seenAt" = ${UTC_NOW}`;
    await db.$executeRaw`DELETE FROM "Process" WHERE "seenAt" < ${UTC_NOW} - make_interval(secs => ${LISTED_MS / 1_000})`;
  }
}
