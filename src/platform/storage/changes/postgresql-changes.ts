/**
 * LISTEN and NOTIFY in a session of their own: CONNECTED <-> LOST -> CLOSED. A lost session is opened again with a
 * backoff, and all listeners, here and in other processes, then receive '*'. Listeners here also receive '*' when no
 * session could be opened for STALE_MS, because what they cached may have changed.
 */

import { Backoff, type BackoffTimes } from '../../scheduling/backoff.ts';
import type { Sealer } from '../encryption/sealed.ts';
import { PostgresqlSession } from '../postgresql/postgresql-session.ts';
import type { StorageLog } from '../storage-log.ts';
import { ChangeMessages } from './change-messages.ts';
import { ANYTHING, type ChangeListener, type Changes, LocalChanges, type Stop } from './changes.ts';

const CHANNEL = 'brokergraph_changes';
/** Half of it is random, so that processes that lost the same server do not reconnect at the same time. */
const BACKOFF: BackoffTimes = { firstMs: 100, longestMs: 5_000, jitter: 0.5 };
/** A restart of the server takes less, and does not cost the caches. */
const STALE_MS = 5_000;
/** Between readings of everything because of messages without a valid signature. */
const UNKNOWN_MS = 10_000;
/** PostgreSQL's limit for a payload is 8,000 bytes; a longer id is announced as ANYTHING. */
const MAX_ID_BYTES = 4_000;

export class PostgresqlChanges implements Changes {
  readonly #databaseUrl: string;
  readonly #log: StorageLog;
  readonly #local = new LocalChanges();
  readonly #messages = new ChangeMessages();
  #session: PostgresqlSession | null = null;
  #hasMissed = false;
  #closed = false;
  readonly #backoff = new Backoff(BACKOFF);
  #timer: NodeJS.Timeout | undefined;
  #staleTimer: NodeJS.Timeout | undefined;
  #unknownTimer: NodeJS.Timeout | undefined;
  #hasUnknown = false;

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

  signWith(signer: Pick<Sealer, 'sign' | 'verify'>): void {
    this.#messages.signer = signer;
  }

  on(kind: string, listener: ChangeListener): Stop {
    return this.#local.on(kind, listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#staleTimer);
    clearTimeout(this.#unknownTimer);
    const session = this.#session;
    this.#session = null;
    await this.#local.close();
    await session?.close();
  }

  async #connect(): Promise<void> {
    const session = await PostgresqlSession.open(this.#databaseUrl, 'changes', (error) => this.#lost(session, error));
    session.client.on('notification', ({ payload }) => this.#receive(payload));
    await session.query(`LISTEN ${CHANNEL}`);
    // `close` does not wait for a connection attempt.
    if (this.#closed) return session.close();
    if (!session.isAlive) throw new Error('The session was lost again');
    this.#session = session;
    this.#backoff.reset();
    clearTimeout(this.#staleTimer);
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
    this.#timer = setTimeout(() => void this.#reconnect(), this.#backoff.next()).unref();
  }

  #lost(session: PostgresqlSession, error: unknown): void {
    if (this.#session !== session) return;
    this.#session = null;
    this.#log.warn({ err: error }, 'Changes from other processes stopped; connecting again');
    this.#staleTimer = setTimeout(() => this.#local.notifyAll(), STALE_MS).unref();
    this.#reconnectLater();
  }

  async #notify(kind: string, id: string): Promise<void> {
    try {
      if (this.#session === null) throw new Error('There is no session');
      await this.#session.query('SELECT pg_notify($1, $2)', [CHANNEL, this.#messages.write({ kind, id })]);
    } catch {
      // The reconnect announces that something changed.
      this.#hasMissed = true;
    }
  }

  #receive(payload: string | undefined): void {
    const change = this.#closed ? null : this.#messages.read(payload);
    if (change === null) return;
    if (change === 'UNKNOWN') this.#somethingChanged();
    else if (change.kind === ANYTHING) this.#local.notifyAll();
    else this.#local.notify(change.kind, change.id);
  }

  /** Reads everything again, at once and then at most every UNKNOWN_MS, however many such messages come. */
  #somethingChanged(): void {
    if (this.#unknownTimer !== undefined) {
      this.#hasUnknown = true;
      return;
    }
    this.#local.notifyAll();
    this.#unknownTimer = setTimeout(() => {
      this.#unknownTimer = undefined;
      if (!this.#hasUnknown) return;
      this.#hasUnknown = false;
      this.#somethingChanged();
    }, UNKNOWN_MS).unref();
  }
}
