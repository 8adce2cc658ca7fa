/**
 * LISTEN and NOTIFY on a separate connection: CONNECTED <-> LOST -> CLOSED. A lost connection is opened again with a
 * backoff, and all listeners, here and in other processes, then receive '*'. A heartbeat query detects a dead
 * connection.
 */
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { ConcurrencyLimit } from '../scheduling/concurrency-limit.ts';
import { ANYTHING, type ChangeListener, type Changes, LocalChanges, type Stop } from './changes.ts';
import { connectPostgresql, query } from './postgresql-connection.ts';
import type { StorageLog } from './storage-log.ts';

const CHANNEL = 'brokergraph_changes';
const RECONNECT_MS = 100;
const RECONNECT_LIMIT_MS = 5_000;
const HEARTBEAT_MS = 20_000;
/** PostgreSQL's limit for a payload is 8,000 bytes; a longer id is announced as ANYTHING. */
const MAX_ID_BYTES = 4_000;

interface Message {
  readonly origin: string;
  readonly kind: string;
  readonly id: string;
}

export class PostgresqlChanges implements Changes {
  readonly #databaseUrl: string;
  readonly #log: StorageLog;
  readonly #local = new LocalChanges();
  readonly #origin = randomUUID();
  #client: Client | null = null;
  readonly #queries = new ConcurrencyLimit({ maxRunning: 1 });
  #hasMissed = false;
  #closed = false;
  #reconnectMs = RECONNECT_MS;
  #timer: NodeJS.Timeout | undefined;

  private constructor(databaseUrl: string, log: StorageLog) {
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  /** Errors: ServiceError INTERNAL_ERROR if the connection fails. */
  static async open(databaseUrl: string, log: StorageLog): Promise<PostgresqlChanges> {
    const changes = new PostgresqlChanges(databaseUrl, log);
    await changes.#connect();
    return changes;
  }

  async announce(kind: string, id: string): Promise<void> {
    if (this.#closed) return;
    this.#local.notify(kind, id);
    await this.#notify(kind, Buffer.byteLength(id) > MAX_ID_BYTES ? ANYTHING : id);
  }

  on(kind: string, listener: ChangeListener): Stop {
    return this.#local.on(kind, listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await this.#local.close();
    await client?.end();
  }

  async #connect(): Promise<void> {
    const client = await connectPostgresql(this.#databaseUrl);
    client.on('error', (error) => this.#lose(client, error));
    client.on('end', () => this.#lose(client, new Error('the server ended the connection')));
    client.on('notification', ({ payload }) => this.#receive(payload));
    try {
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      await client.end();
      throw error;
    }
    // `close` does not wait for a connection attempt.
    if (this.#closed) {
      await client.end();
      return;
    }
    this.#client = client;
    this.#reconnectMs = RECONNECT_MS;
    this.#beatLater(client);
  }

  async #reconnect(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      this.#log.debug({ err: error }, 'Changes from other processes: reconnect failed');
      this.#reconnectLater();
      return;
    }
    if (this.#closed) return;
    this.#log.info('Changes from other processes arrive again');
    this.#local.notifyAll();
    if (this.#hasMissed) {
      this.#hasMissed = false;
      await this.#notify(ANYTHING, ANYTHING);
    }
  }

  #reconnectLater(): void {
    if (this.#closed) return;
    // Random, so that processes that lost the same server do not reconnect at the same time.
    const waitMs = this.#reconnectMs * (0.5 + Math.random() / 2);
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, RECONNECT_LIMIT_MS);
    this.#timer = setTimeout(() => void this.#reconnect(), waitMs).unref();
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    clearTimeout(this.#timer);
    this.#log.warn({ err: error }, 'Changes from other processes stopped; connecting again');
    // Not `end`, which would wait for a server that may not respond.
    client.connection.stream.destroy();
    this.#reconnectLater();
  }

  #beatLater(client: Client): void {
    this.#timer = setTimeout(async () => {
      await this.#query(client, 'SELECT 1');
      if (this.#client === client && !this.#closed) this.#beatLater(client);
    }, HEARTBEAT_MS).unref();
  }

  async #notify(kind: string, id: string): Promise<void> {
    const client = this.#client;
    const message: Message = { origin: this.#origin, kind, id };
    const isSent =
      client && (await this.#query(client, 'SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(message)]));
    if (!isSent) this.#hasMissed = true;
  }

  /** Returns whether the query succeeded in time; otherwise the connection is lost. Queries run one at a time. */
  #query(client: Client, sql: string, values?: string[]): Promise<boolean> {
    return this.#queries.run(async () => {
      try {
        await query(client, sql, values);
        return true;
      } catch (error) {
        this.#lose(client, error);
        return false;
      }
    });
  }

  #receive(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (!message || message.origin === this.#origin || this.#closed) return;
    if (message.kind === ANYTHING) this.#local.notifyAll();
    else this.#local.notify(message.kind, message.id);
  }
}

/** Returns `null` for notifications of other programs on the same database. */
function parseMessage(payload = ''): Message | null {
  try {
    const { origin, kind, id } = JSON.parse(payload);
    return typeof kind === 'string' && typeof id === 'string' ? { origin: String(origin), kind, id } : null;
  } catch {
    return null;
  }
}
