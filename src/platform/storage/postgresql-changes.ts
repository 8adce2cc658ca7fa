/**
 * Changes between processes by PostgreSQL's LISTEN and NOTIFY, on a connection of its own: CONNECTED <-> LOST -> CLOSED.
 *
 * A lost connection is made again, after RECONNECT_MS doubling to RECONNECT_LIMIT_MS. What other processes announced
 * meanwhile is lost, so after it every local listener is told '*'. What this process announced meanwhile is not queued: the
 * others are told once, when connected again, that anything may have changed. A connection that died silently is found by a
 * question every HEARTBEAT_MS that must be answered within ANSWER_MS. Own notifications come back and are left out.
 */
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { ANYTHING, type ChangeListener, type Changes, LocalChanges, type Stop } from './changes.ts';
import { connectPostgresql } from './postgresql-connection.ts';
import type { StorageLog } from './storage-log.ts';

const CHANNEL = 'brokergraph_changes';
const RECONNECT_MS = 100;
const RECONNECT_LIMIT_MS = 5_000;
const HEARTBEAT_MS = 20_000;
const ANSWER_MS = 5_000;
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
  /** Tells own notifications from those of others. */
  readonly #origin = randomUUID();
  #client: Client | null = null;
  /** Never rejects. */
  #lastAnswer: Promise<unknown> = Promise.resolve();
  #missed = false;
  #closed = false;
  #reconnectMs = RECONNECT_MS;
  #timer: NodeJS.Timeout | undefined;

  private constructor(databaseUrl: string, log: StorageLog) {
    this.#databaseUrl = databaseUrl;
    this.#log = log;
  }

  /** Listening when it resolves. Errors: ServiceError INTERNAL_ERROR when there is no connection. */
  static async open(databaseUrl: string, log: StorageLog): Promise<PostgresqlChanges> {
    const changes = new PostgresqlChanges(databaseUrl, log);
    await changes.#connect();
    return changes;
  }

  async announce(kind: string, id: string): Promise<void> {
    if (this.#closed) return;
    this.#local.tell(kind, id);
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
    // Closed meanwhile: close did not wait for a server that may not answer.
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
      this.#log.debug({ err: error }, 'Still no connection for changes from other processes');
      this.#reconnectLater();
      return;
    }
    if (this.#closed) return;
    this.#log.info('Changes from other processes arrive again');
    this.#local.tellEverything();
    if (this.#missed) {
      this.#missed = false;
      await this.#notify(ANYTHING, ANYTHING);
    }
  }

  #reconnectLater(): void {
    if (this.#closed) return;
    // Spread, so that processes that lost one server together do not come back together.
    const waitMs = this.#reconnectMs * (0.5 + Math.random() / 2);
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, RECONNECT_LIMIT_MS);
    this.#timer = setTimeout(() => void this.#reconnect(), waitMs).unref();
  }

  #lose(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = null;
    clearTimeout(this.#timer);
    this.#log.warn({ err: error }, 'Changes from other processes stopped; connecting again');
    // Not `end`, which would wait for a server that may be gone.
    client.connection.stream.destroy();
    this.#reconnectLater();
  }

  #beatLater(client: Client): void {
    this.#timer = setTimeout(async () => {
      await this.#ask(client, 'SELECT 1', []);
      if (this.#client === client && !this.#closed) this.#beatLater(client);
    }, HEARTBEAT_MS).unref();
  }

  async #notify(kind: string, id: string): Promise<void> {
    const client = this.#client;
    const message: Message = { origin: this.#origin, kind, id };
    const told = client && (await this.#ask(client, 'SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(message)]));
    if (!told) this.#missed = true;
  }

  /** Whether the server did it in time; a connection on which it did not is given up. One at a time, as pg wants it. */
  #ask(client: Client, sql: string, values: string[]): Promise<boolean> {
    const answer = this.#lastAnswer.then(() => this.#askNow(client, sql, values));
    this.#lastAnswer = answer;
    return answer;
  }

  async #askNow(client: Client, sql: string, values: string[]): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${ANSWER_MS} ms`)), ANSWER_MS);
    });
    try {
      await Promise.race([client.query(sql, values), late]);
      return true;
    } catch (error) {
      this.#lose(client, error);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  #receive(payload: string | undefined): void {
    const message = parseMessage(payload);
    if (!message || message.origin === this.#origin || this.#closed) return;
    if (message.kind === ANYTHING) this.#local.tellEverything();
    else this.#local.tell(message.kind, message.id);
  }
}

/** Null for what this service did not send: anybody with access to the database may notify. */
function parseMessage(payload = ''): Message | null {
  try {
    const { origin, kind, id } = JSON.parse(payload);
    return typeof kind === 'string' && typeof id === 'string' ? { origin: String(origin), kind, id } : null;
  } catch {
    return null;
  }
}
