/**
 * A connection to PostgreSQL that both ends stop using within a known time after one of them became silent, also if no
 * packet reports it. ALIVE -> LOST | CLOSED.
 *
 * This process sends a heartbeat every BEAT_MS. Without a response it stops using the connection ALIVE_MS after it sent
 * the last confirmed heartbeat. The server ends the session, with its locks, SERVER_MS after it received the last
 * query. The server therefore keeps the locks for at least SERVER_MS - ALIVE_MS after this process has stopped. Both
 * measure intervals by monotonic clocks, so the time of day on the machines does not matter. If the server itself ends
 * the session, such as at a restart, this process notices it at once, or after ALIVE_MS if no packet arrives.
 *
 * A server with synchronous standbys confirms a heartbeat only when a standby has received it. A primary that was
 * replaced by its standby therefore confirms none.
 */
import type { Client, QueryResult } from 'pg';
import { ConcurrencyLimit } from '../../scheduling/concurrency-limit.ts';
import { within } from '../../scheduling/within.ts';
import { type DatabaseSpeed, timedClient } from '../database-speed.ts';
import { closePostgresql, connectPostgresql } from './postgresql-connection.ts';

const BEAT_MS = 1_000;
const ALIVE_MS = 6_000;
/** Needs PostgreSQL 14 (`idle_session_timeout`). */
export const SERVER_MS = 9_000;
const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * `tcp_user_timeout` ends a session that waits until a silent process receives its notifications. A commit waits for
 * the synchronous standbys, whatever the default of the role is.
 */
const SETTINGS = `SET idle_session_timeout = ${SERVER_MS};
  SET tcp_user_timeout = ${SERVER_MS};
  SET synchronous_commit = on`;

/** Writes a record to the log of the server only if a standby must confirm it. */
const HEARTBEAT = `SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
  THEN pg_logical_emit_message(true, 'brokergraph', '')::text END`;

/**
 * A heartbeat that no standby has confirmed for long, of a session that this or another process has lost. It keeps its
 * connection at the server until a standby confirms it, so that each further one would take another connection.
 */
const UNCONFIRMED = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = current_setting('application_name')
    AND wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '${RESPONSE_TIMEOUT_MS} ms'`;

/** `null` for a standby, which grants locks, too, but not those of the primary. */
const SERVER = `SELECT CASE WHEN pg_is_in_recovery() THEN NULL
  ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`;

export class PostgresqlSession {
  readonly client: Client;
  /** Of the server's history: another one after the promotion of a standby. */
  readonly timeline: string;
  readonly #onLost: (error: unknown) => void;
  readonly #queries = new ConcurrencyLimit({ maxRunning: 1 });
  #aliveUntil: number;
  #expiry: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isOver = false;

  private constructor(client: Client, timeline: string, sentAt: number, onLost: (error: unknown) => void) {
    this.client = client;
    this.timeline = timeline;
    this.#onLost = onLost;
    this.#aliveUntil = sentAt;
    client.on('error', (error) => this.lose(error));
    client.on('end', () => this.lose(new Error('the server ended the connection')));
    this.#confirmed(sentAt);
    this.#beatLater();
  }

  /**
   * `purpose` is shown to administrators of the server. `onLost` is called at most once, and not after `close`.
   * Errors: ServiceError INTERNAL_ERROR if the server cannot be connected to; an Error if it is a standby, waits for
   * one, or does not respond.
   */
  static async open(
    databaseUrl: string,
    purpose: string,
    onLost: (error: unknown) => void,
    speed?: DatabaseSpeed,
  ): Promise<PostgresqlSession> {
    const client = await connectPostgresql(databaseUrl, purpose, speed && timedClient(speed));
    try {
      await inTime(client.query(SETTINGS));
      const { rows } = await inTime(client.query<{ timeline: string | null }>(SERVER));
      const timeline = rows[0]?.timeline ?? null;
      if (timeline === null) throw new Error('the server is a standby');
      const unconfirmed = await inTime(client.query(UNCONFIRMED));
      if (unconfirmed.rows.length > 0) throw new Error('the server waits for a synchronous standby');
      const sentAt = performance.now();
      await inTime(client.query(HEARTBEAT));
      return new PostgresqlSession(client, timeline, sentAt, onLost);
    } catch (error) {
      client.connection.stream.destroy();
      throw error;
    }
  }

  /** False as soon as the server may have ended the session, even if no timer has run since. */
  get isAlive(): boolean {
    return !this.#isOver && performance.now() < this.#aliveUntil;
  }

  /**
   * Queries run one at a time. A failure loses the session, because its state at the server is then unknown. Errors:
   * those of the query; an Error if the session is lost, or there is no response within RESPONSE_TIMEOUT_MS.
   */
  query(sql: string, values?: unknown[]): Promise<QueryResult> {
    return this.#queries.run(async () => {
      try {
        if (!this.isAlive) throw late();
        return await inTime(this.client.query(sql, values));
      } catch (error) {
        this.lose(error);
        throw error;
      }
    });
  }

  lose(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    // Not `end`, which would wait for a server that may not respond.
    this.client.connection.stream.destroy();
    this.#onLost(error);
  }

  /** Waits for queries in progress and the end of the session, in total for some seconds at most. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    await this.#queries.run(async () => this.#stop());
    await closePostgresql(this.client);
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#expiry);
    clearTimeout(this.#beat);
  }

  #confirmed(sentAt: number): void {
    if (this.#isOver) return;
    this.#aliveUntil = sentAt + ALIVE_MS;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.lose(late()), Math.max(0, this.#aliveUntil - performance.now())).unref();
  }

  #beatLater(): void {
    if (this.#isOver) return;
    this.#beat = setTimeout(() => void this.#sendBeat(), BEAT_MS).unref();
  }

  async #sendBeat(): Promise<void> {
    let sentAt = 0;
    try {
      await this.#queries.run(async () => {
        sentAt = performance.now();
        await inTime(this.client.query(HEARTBEAT));
      });
      this.#confirmed(sentAt);
      this.#beatLater();
    } catch (error) {
      this.lose(error);
    }
  }
}

const late = (): Error => new Error('the server has not responded in time');

const inTime = <T>(work: Promise<T>): Promise<T> => within(RESPONSE_TIMEOUT_MS, work, late);
