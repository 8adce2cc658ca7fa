import pg from 'pg';
import { ServiceError } from '../../../platform/errors.ts';
import { bigints, byteas, integers, smallints, texts } from '../../../platform/storage/postgresql/postgresql-arrays.ts';
import {
  isTemporary,
  postgresqlConfig,
  SESSION_SETTINGS,
} from '../../../platform/storage/postgresql/postgresql-connection.ts';
import type { DiskLog, Erased, LogBatch, LogOwner, PageOptions, PageRange, StoredLog } from '../log-disk.ts';
import type { IdRange, StoredMessage } from '../log-message.ts';
import type { LogPart, StoredPart } from '../log-parts.ts';
import {
  COUNT,
  END,
  ERASE,
  LEFT,
  LOGS,
  NEXT_TURNS,
  NUMBERS,
  OPEN,
  OWNED,
  pageOf,
  REDUCE,
  WRITE,
  WRITE_AND_SETTLE,
} from './log-statements.ts';

/** One writes, the other ones read. */
const MAX_CONNECTIONS = 5;
/** A statement that takes longer counts as lost with its connection. */
const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * The server ends a connection that was cut off after about 25 s. Partitions fill faster than the statistics of the
 * planner, and are read by their key only.
 */
const SETTINGS = `SET statement_timeout = ${RESPONSE_TIMEOUT_MS};
  SET idle_in_transaction_session_timeout = ${RESPONSE_TIMEOUT_MS};
  SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2; SET enable_seqscan = off`;

/** The statements of logs, on connections that all logs of a thread share. Errors: those of pg, or those named. */
export class LogTables {
  readonly pool: pg.Pool;

  constructor(databaseUrl: string, onLost: (error: Error) => void) {
    this.pool = new pg.Pool({
      ...postgresqlConfig(databaseUrl),
      application_name: 'brokergraph stored messages',
      max: MAX_CONNECTIONS,
      query_timeout: RESPONSE_TIMEOUT_MS,
      allowExitOnIdle: true,
      onConnect: async (client) => {
        client.on('error', () => undefined);
        await client.query(`${SESSION_SETTINGS}; ${SETTINGS}`);
      },
    });
    this.pool.on('error', onLost);
  }

  /** Epoch milliseconds by the clock of the database. */
  async now(): Promise<number> {
    const [{ now }] = await this.#rows('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now', []);
    return Number(now);
  }

  /** Takes over what `key` stands for: a former owner changes nothing any more. Returns the turn. */
  async open(key: string, name: string, brokerId: string | null): Promise<number> {
    const [{ turn }] = await this.#rows(OPEN, [key, name, brokerId]);
    return Number(turn);
  }

  /** After the logs were removed, or carried over. */
  async end({ key, name }: LogOwner): Promise<void> {
    await this.#rows(END, [key, name]);
  }

  async logsOf(group: string): Promise<StoredLog[]> {
    const logs = new Map<number, StoredLog & { readonly parts: StoredPart[] }>();
    for (const row of await this.#rows(LOGS, [group])) {
      const { name, number, log_last } = row;
      const log = logs.get(number) ?? { name, number, ttl: 0, lastId: Number(log_last), parts: [] as StoredPart[] };
      if (row.width !== null) log.parts.push(toPart(row));
      logs.set(row.number, log);
    }
    return [...logs.values()];
  }

  /** Gives numbers to logs that have none. */
  async number(logs: readonly DiskLog[]): Promise<void> {
    const others = new Map(logs.filter(({ number }) => number === null).map((log) => [log.name, log]));
    if (others.size === 0) return;
    const groups = [...others.values()].map(({ owner }) => owner.group);
    for (const { name, number } of await this.#rows(NUMBERS, [[...others.keys()], groups])) {
      const log = others.get(name);
      if (log !== undefined) log.number = Number(number);
    }
  }

  async existing(numbers: readonly number[]): Promise<ReadonlySet<number>> {
    const rows = await this.#rows('SELECT number FROM messages.log WHERE number = ANY ($1::int4[])', [numbers]);
    return new Set(rows.map(({ number }) => Number(number)));
  }

  /** Ends the turns of owners, so that what an earlier statement may still do is undone or done. */
  async nextTurns(owners: readonly LogOwner[]): Promise<void> {
    const rows = await this.#rows(NEXT_TURNS, [owners.map(({ key }) => key), owners.map(({ name }) => name)]);
    const turns = new Map(rows.map(({ key, turn }) => [key, Number(turn)]));
    for (const owner of owners) {
      const turn = turns.get(owner.key);
      if (turn === undefined) owner.isTaken = true;
      else owner.turn = turn;
    }
  }

  /** One commit. Owners that are taken over are marked, and their messages are not stored. */
  async write(batches: readonly LogBatch[]): Promise<void> {
    const owners = [...new Set(batches.map(({ log }) => log.owner))];
    const messages = batches.flatMap(({ messages }) => messages);
    const settled = batches.flatMap(({ log, settled = [] }) => settled.map((range) => ({ ...range, log })));
    const rows = await this.#rows(settled.length === 0 ? WRITE : WRITE_AND_SETTLE, [
      texts(owners.map(({ key }) => key)),
      texts(owners.map(({ name }) => name)),
      bigints(owners.map(({ turn }) => turn)),
      integers(batches.map(({ log }) => log.number ?? 0)),
      integers(batches.map(({ log }) => owners.indexOf(log.owner))),
      integers(batches.flatMap(({ log, messages }) => messages.map(() => log.number ?? 0))),
      integers(messages.map(({ part }) => part.width)),
      bigints(messages.map(({ id }) => id)),
      integers(messages.map(({ bytes }) => bytes)),
      smallints(messages.map(({ qos }) => qos)),
      texts(messages.map(({ topic }) => topic)),
      byteas(messages.map(({ payload }) => payload)),
      ...(settled.length === 0
        ? []
        : [
            integers(settled.map(({ log }) => log.number ?? 0)),
            bigints(settled.map(({ from }) => from)),
            bigints(settled.map(({ to }) => to)),
          ]),
    ]);
    const owned = new Set(rows.map(({ owner }) => Number(owner)));
    for (const [index, owner] of owners.entries()) if (!owned.has(index)) owner.isTaken = true;
  }

  /** Errors: DATABASE_UNAVAILABLE. */
  async page({ number }: DiskLog, { widths, from, to }: PageRange, options: PageOptions): Promise<StoredMessage[]> {
    const sql = pageOf(widths, options.reverse);
    const rows = await this.#rows(sql, [number, from, to, options.limit, options.maxBytes]).catch(unavailable);
    return rows.map((row) => ({ id: Number(row.id), topic: row.topic, qos: row.qos, payload: row.payload }));
  }

  /** Errors: DATABASE_UNAVAILABLE. */
  async count({ number }: DiskLog, { width }: LogPart, { from, to }: IdRange): Promise<number> {
    const [{ count }] = await this.#rows(COUNT, [number, width, from, to]).catch(unavailable);
    return Number(count);
  }

  /** Errors: DATABASE_UNAVAILABLE. */
  erase(log: DiskLog, part: LogPart, { from, to }: IdRange, limit: number): Promise<Erased> {
    const { number, lastId } = log;
    const { width, start, first, last } = part;
    return this.#owned(log, async (query) => {
      const [gone] = await query(ERASE, [number, width, from, to, limit]);
      const [left] = await query(LEFT, [number, width, first, last]);
      const erased = Number(gone?.messages);
      if (left?.first != null) {
        const values = [number, width, start, gone?.messages, gone?.bytes, left.first, left.last];
        const [row] = await query(REDUCE, values);
        return { messages: erased, left: row === undefined ? null : toPart(row) };
      }
      await query('DELETE FROM messages.log_part WHERE log = $1 AND width = $2 AND start = $3', [number, width, start]);
      await query('UPDATE messages.log SET last = greatest(last, $2) WHERE number = $1', [number, lastId]);
      return { messages: erased, left: null };
    });
  }

  /** Gives the name of a log free. Errors: DATABASE_UNAVAILABLE. */
  async release(log: DiskLog): Promise<void> {
    await this.#owned(log, (query) => query('UPDATE messages.log SET name = NULL WHERE number = $1', [log.number]));
  }

  /** Errors: DATABASE_UNAVAILABLE. */
  async drop(log: DiskLog): Promise<void> {
    await this.#owned(log, (query) => query('DELETE FROM messages.log WHERE number = $1', [log.number]));
  }

  /** One transaction, if the owner is still the same. */
  async #owned<T>({ owner }: DiskLog, work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch(unavailable);
    try {
      await client.query('BEGIN');
      const { rowCount } = await client.query(OWNED, [owner.key, owner.name, owner.turn]);
      if (rowCount === 0) throw new ServiceError('BROKER_UNREACHABLE', 'Another process has taken over the logs');
      const result = await work(async (sql, values) => (await client.query(sql, values)).rows);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // The state of the transaction is unknown.
      client.release(true);
      throw error instanceof ServiceError ? error : unavailable(error);
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }

  async #rows(sql: string, values: unknown[]) {
    return (await this.pool.query(sql, values)).rows;
  }
}

type Query = (sql: string, values: unknown[]) => Promise<pg.QueryResultRow[]>;

/** pg returns `bigint` as text. */
const toPart = (row: pg.QueryResultRow): StoredPart => ({
  width: row.width,
  messages: Number(row.messages),
  bytes: Number(row.bytes),
  first: Number(row.first),
  last: Number(row.last),
});

function unavailable(error: unknown): never {
  if (!(error instanceof Error) || !isTemporary(error)) throw error;
  throw new ServiceError('DATABASE_UNAVAILABLE', error.message, { cause: error });
}
