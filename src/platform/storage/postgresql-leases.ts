/**
 * Session-level advisory locks of PostgreSQL, on a separate connection that the first lease opens. Missing leases are
 * tried every RETRY_MS, and when another process announces a release. A dead connection is detected within HEARTBEAT_MS
 * + RESPONSE_TIMEOUT_MS. The TCP keepalive of the server is longer, so the old holder has stopped before another one
 * acquires the lock.
 */
import type { Client } from 'pg';
import { ConcurrencyLimit } from '../scheduling/concurrency-limit.ts';
import { ANYTHING, type Changes } from './changes.ts';
import type { Lease, Leases } from './leases.ts';
import { connectPostgresql, query } from './postgresql-connection.ts';
import type { StorageLog } from './storage-log.ts';

const RETRY_MS = 3_000;
const HEARTBEAT_MS = 5_000;
/** The server closes a silent connection after about 25 s. */
const SERVER_KEEPALIVE = 'SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2';
const RELEASED = 'lease';
const LOCK_SPACE = 0x62677368;

interface Wanted {
  readonly name: string;
  readonly listener: (isHeld: boolean) => void;
  held: boolean;
}

export class PostgresqlLeases implements Leases {
  readonly #databaseUrl: string;
  readonly #changes: Changes;
  readonly #log: StorageLog;
  readonly #wanted = new Set<Wanted>();
  readonly #stopChanges: () => void;
  #client: Client | null = null;
  readonly #queries = new ConcurrencyLimit({ maxRunning: 1 });
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(databaseUrl: string, changes: Changes, log: StorageLog) {
    this.#databaseUrl = databaseUrl;
    this.#changes = changes;
    this.#log = log;
    this.#stopChanges = changes.on(RELEASED, () => {
      if (this.#missing().length > 0) void this.#tryAll();
    });
  }

  want(name: string, listener: (isHeld: boolean) => void): Lease {
    const wanted: Wanted = { name, listener, held: false };
    this.#wanted.add(wanted);
    void this.#enqueue(() => this.#try([wanted]));
    this.#scheduleHeartbeat();
    return {
      get held() {
        return wanted.held;
      },
      attempt: async () => {
        if (!wanted.held) await this.#enqueue(() => this.#try([wanted]));
        return wanted.held;
      },
      release: () => this.#release(wanted),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopChanges();
    if (this.#timer) clearTimeout(this.#timer);
    for (const wanted of this.#wanted) wanted.held = false;
    this.#wanted.clear();
    await this.#queries.run(async () => undefined);
    const client = this.#client;
    if (client === null) return;
    this.#client = null;
    await client.end();
    await this.#changes.announce(RELEASED, ANYTHING);
  }

  #missing(): Wanted[] {
    return [...this.#wanted].filter(({ held }) => !held);
  }

  #tryAll(): Promise<void> {
    return this.#enqueue(() => this.#try(this.#missing()));
  }

  async #try(list: readonly Wanted[]): Promise<void> {
    const open = list.filter((wanted) => this.#wanted.has(wanted) && !wanted.held);
    if (open.length === 0) return;
    const client = await this.#connected();
    const sql = 'SELECT name, pg_try_advisory_lock($1, hashtext(name)) AS held FROM unnest($2::text[]) AS name';
    const { rows } = await query(client, sql, [LOCK_SPACE, open.map(({ name }) => name)]);
    const held = new Set(rows.filter((row) => row.held === true).map((row) => row.name));
    for (const wanted of open) {
      if (!held.has(wanted.name) || this.#client !== client) continue;
      wanted.held = true;
      wanted.listener(true);
    }
  }

  async #release(wanted: Wanted): Promise<void> {
    if (!this.#wanted.delete(wanted)) return;
    await this.#enqueue(async () => {
      const client = this.#client;
      if (!wanted.held || client === null) return;
      wanted.held = false;
      await query(client, 'SELECT pg_advisory_unlock($1, hashtext($2))', [LOCK_SPACE, wanted.name]);
    });
    await this.#changes.announce(RELEASED, wanted.name);
  }

  async #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await connectPostgresql(this.#databaseUrl);
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the server ended the connection')));
    this.#client = client;
    await query(client, SERVER_KEEPALIVE);
    return client;
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#log.warn({ err: error }, 'The database connection of the leases was lost, and all leases with it');
    // Not `end`, which would wait for a server that may not respond.
    client.connection.stream.destroy();
    for (const wanted of this.#wanted) {
      if (!wanted.held) continue;
      wanted.held = false;
      wanted.listener(false);
    }
  }

  #scheduleHeartbeat(): void {
    if (this.#timer !== null || this.#closed) return;
    const isWaiting = this.#missing().length > 0;
    this.#timer = setTimeout(() => void this.#heartbeat(), isWaiting ? RETRY_MS : HEARTBEAT_MS).unref();
  }

  async #heartbeat(): Promise<void> {
    await this.#enqueue(async () => {
      const client = this.#client;
      if (client !== null) await query(client, 'SELECT 1');
      await this.#try(this.#missing());
    });
    this.#timer = null;
    if (this.#wanted.size > 0) this.#scheduleHeartbeat();
  }

  /** A failure closes the connection, because the locks of the session are then unknown. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    return this.#queries.run(async () => {
      try {
        await work();
      } catch (error) {
        if (this.#client !== null) this.#lose(this.#client, error);
        else this.#log.debug({ err: error }, 'Connecting for leases failed');
      }
    });
  }
}
