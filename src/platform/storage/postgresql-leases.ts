/**
 * Leases by PostgreSQL's advisory locks, which belong to a session: on a connection of its own, opened with the first one that is
 * wanted. NONE -> CONNECTED <-> LOST -> CLOSED.
 *
 * One lock each, found by a hash of its name: two names with one hash are only held by the same process. What is
 * not held is tried for every RETRY_MS, and when another process tells that it gave one back. A connection that died silently is
 * found here within BEAT_MS + ANSWER_MS, and by the server later than that (its keep-alive is set so), so that the old
 * holder has stopped when another one gets the lock.
 */
import type { Client } from 'pg';
import { ANYTHING, type Changes } from './changes.ts';
import type { Lease, Leases } from './leases.ts';
import { connectPostgresql } from './postgresql-connection.ts';
import type { StorageLog } from './storage-log.ts';

const RETRY_MS = 3_000;
const BEAT_MS = 5_000;
const ANSWER_MS = 5_000;
/** The server gives a silent connection up after some 25 s. */
const SERVER_KEEPALIVE = 'SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2';
const RELEASED = 'lease';
/** Keeps these locks apart from others of the same database. */
const SPACE = 0x62677368;

interface Wanted {
  readonly name: string;
  readonly listener: (held: boolean) => void;
  held: boolean;
}

export class PostgresqlLeases implements Leases {
  readonly #databaseUrl: string;
  readonly #changes: Changes;
  readonly #log: StorageLog;
  readonly #wanted = new Set<Wanted>();
  readonly #stopChanges: () => void;
  #client: Client | null = null;
  /** What is asked of the server, one after the other; never rejects. */
  #tail: Promise<unknown> = Promise.resolve();
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

  want(name: string, listener: (held: boolean) => void): Lease {
    const wanted: Wanted = { name, listener, held: false };
    this.#wanted.add(wanted);
    void this.#inOrder(() => this.#try([wanted]));
    this.#beatLater();
    return {
      get held() {
        return wanted.held;
      },
      attempt: async () => {
        if (!wanted.held) await this.#inOrder(() => this.#try([wanted]));
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
    await this.#tail;
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
    return this.#inOrder(() => this.#try(this.#missing()));
  }

  /** Asks for locks that are not held yet. */
  async #try(list: readonly Wanted[]): Promise<void> {
    const open = list.filter((wanted) => this.#wanted.has(wanted) && !wanted.held);
    if (open.length === 0) return;
    const client = await this.#connected();
    const sql = 'SELECT name, pg_try_advisory_lock($1, hashtext(name)) AS held FROM unnest($2::text[]) AS name';
    const { rows } = await ask(client, sql, [SPACE, open.map(({ name }) => name)]);
    const held = new Set(rows.filter((row) => row.held === true).map((row) => row.name));
    for (const wanted of open) {
      if (!held.has(wanted.name) || this.#client !== client) continue;
      wanted.held = true;
      wanted.listener(true);
    }
  }

  async #release(wanted: Wanted): Promise<void> {
    if (!this.#wanted.delete(wanted)) return;
    await this.#inOrder(async () => {
      const client = this.#client;
      if (!wanted.held || client === null) return;
      wanted.held = false;
      await ask(client, 'SELECT pg_advisory_unlock($1, hashtext($2))', [SPACE, wanted.name]);
    });
    await this.#changes.announce(RELEASED, wanted.name);
  }

  async #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await connectPostgresql(this.#databaseUrl);
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the server ended the connection')));
    this.#client = client;
    await ask(client, SERVER_KEEPALIVE);
    return client;
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#log.warn({ err: error }, 'The connection that leases are held by was lost: they are, too');
    // Not `end`, which would wait for a server that may be gone.
    client.connection.stream.destroy();
    for (const wanted of this.#wanted) {
      if (!wanted.held) continue;
      wanted.held = false;
      wanted.listener(false);
    }
  }

  #beatLater(): void {
    if (this.#timer !== null || this.#closed) return;
    const isWaiting = this.#missing().length > 0;
    this.#timer = setTimeout(() => void this.#beat(), isWaiting ? RETRY_MS : BEAT_MS).unref();
  }

  async #beat(): Promise<void> {
    await this.#inOrder(async () => {
      const client = this.#client;
      if (client !== null) await ask(client, 'SELECT 1');
      await this.#try(this.#missing());
    });
    this.#timer = null;
    if (this.#wanted.size > 0) this.#beatLater();
  }

  /** What fails ends the connection: nobody knows what the session holds then. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(work).catch((error: unknown) => {
      if (this.#client !== null) this.#lose(this.#client, error);
      else this.#log.debug({ err: error }, 'No connection for leases');
    });
    this.#tail = done;
    return done;
  }
}

async function ask(client: Client, sql: string, values: unknown[] = []) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ANSWER_MS} ms`)), ANSWER_MS);
  });
  try {
    return await Promise.race([client.query(sql, values.length === 0 ? undefined : values), late]);
  } finally {
    clearTimeout(timer);
  }
}
