/**
 * Session-level advisory locks of PostgreSQL, in a session of their own that the first lease opens. Missing leases are
 * tried every RETRY_MS, and when another process announces a release.
 *
 * A process that is killed loses its locks at once, because its system closes the connection. A process that is
 * silent has stopped its work before the server releases its locks, see PostgresqlSession. The locks are not
 * replicated: after a standby was promoted, a process that was connected before waits SERVER_MS, until every holder
 * at the previous primary has stopped.
 */
import { ConcurrencyLimit } from '../../scheduling/concurrency-limit.ts';
import { ANYTHING, type Changes } from '../changes/changes.ts';
import type { DatabaseSpeed } from '../database-speed.ts';
import { PostgresqlSession, SERVER_MS } from '../postgresql/postgresql-session.ts';
import type { StorageLog } from '../storage-log.ts';
import { lockKey, tryLocks } from './lease-locks.ts';
import { isRowLease, LeaseRows } from './lease-rows.ts';
import type { Lease, Leases } from './leases.ts';

const RETRY_MS = 1_000;
const RELEASED = 'lease';

interface Wanted {
  readonly name: string;
  readonly listener: (isHeld: boolean) => void;
  /** Has the lock. */
  session: PostgresqlSession | null;
}

export class PostgresqlLeases implements Leases {
  readonly #databaseUrl: string;
  readonly #changes: Changes;
  readonly #log: StorageLog;
  readonly #speed: DatabaseSpeed;
  readonly #wanted = new Set<Wanted>();
  readonly #stopChanges: () => void;
  #session: PostgresqlSession | null = null;
  /** Of the session. */
  #rows: LeaseRows | null = null;
  #timeline: string | null = null;
  /** By `performance.now()`. */
  #waitUntil = 0;
  #isQueued = false;
  readonly #steps = new ConcurrencyLimit({ maxRunning: 1 });
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(databaseUrl: string, changes: Changes, log: StorageLog, speed: DatabaseSpeed) {
    this.#databaseUrl = databaseUrl;
    this.#changes = changes;
    this.#log = log;
    this.#speed = speed;
    this.#stopChanges = changes.on(RELEASED, () => {
      if (this.#missing().length > 0) void this.#tryAll();
    });
  }

  want(name: string, listener: (isHeld: boolean) => void): Lease {
    const wanted: Wanted = { name, listener, session: null };
    this.#wanted.add(wanted);
    void this.#tryAll();
    this.#retryLater();
    return {
      get held() {
        return isHeld(wanted);
      },
      attempt: async () => {
        if (!isHeld(wanted)) await this.#inOrder(() => this.#try([wanted]));
        return isHeld(wanted);
      },
      release: () => this.#release(wanted),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopChanges();
    if (this.#timer) clearTimeout(this.#timer);
    for (const wanted of this.#wanted) wanted.session = null;
    this.#wanted.clear();
    await this.#inOrder(async () => undefined);
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    await session.close();
    await this.#changes.announce(RELEASED, ANYTHING);
  }

  #missing(): Wanted[] {
    return [...this.#wanted].filter((wanted) => !isHeld(wanted));
  }

  /** Once for all that are wanted until it begins. */
  async #tryAll(): Promise<void> {
    if (this.#isQueued) return;
    this.#isQueued = true;
    await this.#inOrder(() => {
      this.#isQueued = false;
      return this.#try(this.#missing());
    });
  }

  async #try(list: readonly Wanted[]): Promise<void> {
    const open = list.filter((wanted) => this.#wanted.has(wanted) && !isHeld(wanted));
    if (open.length === 0) return;
    const session = await this.#connected();
    if (performance.now() < this.#waitUntil) return;
    const names = open.map(({ name }) => name);
    const rows = (await this.#rows?.take(names.filter(isRowLease))) ?? new Set();
    const others = names.filter((name) => !isRowLease(name));
    const held = await tryLocks(session, others);
    for (const wanted of open) {
      if (!(rows.has(wanted.name) || held.has(wanted.name)) || !session.isAlive) continue;
      wanted.session = session;
      wanted.listener(true);
    }
  }

  async #release(wanted: Wanted): Promise<void> {
    if (!this.#wanted.delete(wanted)) return;
    await this.#inOrder(async () => {
      const { session } = wanted;
      wanted.session = null;
      if (!session?.isAlive) return;
      if (isRowLease(wanted.name)) await this.#rows?.release([wanted.name]);
      else await session.query(`SELECT pg_advisory_unlock(${lockKey('$1')})`, [wanted.name]);
    });
    await this.#changes.announce(RELEASED, wanted.name);
  }

  async #connected(): Promise<PostgresqlSession> {
    const current = this.#session;
    if (current?.isAlive) return current;
    current?.lose(new Error('the session has expired'));
    const onLost = (error: unknown) => this.#lost(session, error);
    const session = await PostgresqlSession.open(this.#databaseUrl, 'lease holder', onLost, this.#speed);
    this.#rows = await LeaseRows.open(session);
    if (this.#timeline !== null && this.#timeline !== session.timeline) {
      this.#waitUntil = performance.now() + SERVER_MS;
      this.#log.warn({ timeline: session.timeline }, 'A standby of the database was promoted; leases are tried later');
    }
    this.#timeline = session.timeline;
    this.#session = session;
    return session;
  }

  #lost(session: PostgresqlSession, error: unknown): void {
    if (this.#session !== session) return;
    this.#session = null;
    this.#rows = null;
    this.#log.warn({ err: error }, 'The database connection of the leases was lost, and all leases with it');
    for (const wanted of this.#wanted) {
      if (wanted.session !== session) continue;
      wanted.session = null;
      wanted.listener(false);
    }
  }

  /** Gives up leases that a process of the version before has. */
  async #check(): Promise<void> {
    const held = [...this.#wanted].filter((wanted) => isHeld(wanted) && isRowLease(wanted.name));
    if (held.length === 0) return;
    const lost = await this.#rows?.check(held.map(({ name }) => name));
    for (const wanted of held) {
      if (lost?.has(wanted.name) !== true || !isHeld(wanted)) continue;
      wanted.session = null;
      wanted.listener(false);
    }
  }

  /** Random, so that processes that lost the same server do not try at the same time. */
  #retryLater(): void {
    if (this.#timer !== null || this.#closed || this.#wanted.size === 0) return;
    this.#timer = setTimeout(() => void this.#retry(), RETRY_MS * (0.5 + Math.random() / 2)).unref();
  }

  async #retry(): Promise<void> {
    await this.#inOrder(() => this.#check());
    await this.#tryAll();
    this.#timer = null;
    this.#retryLater();
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    return this.#steps.run(async () => {
      try {
        await work();
      } catch (error) {
        this.#log.debug({ err: error }, 'The database could not be asked for leases');
      }
    });
  }
}

const isHeld = ({ session }: Wanted): boolean => session?.isAlive === true;
