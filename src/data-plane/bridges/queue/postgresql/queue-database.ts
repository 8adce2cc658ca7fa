import pg from 'pg';
import {
  bigints,
  byteas,
  integers,
  smallints,
  texts,
} from '../../../../platform/storage/postgresql/postgresql-arrays.ts';
import { postgresqlConfig, SESSION_SETTINGS } from '../../../../platform/storage/postgresql/postgresql-connection.ts';
import { fromColumns, type QueueColumns, toColumns } from '../queue-columns.ts';
import type { QueueContent, QueueRow } from '../queue-disk.ts';
import { type QueueChange, type QueuePlace, QueueTaken, type QueueTurn } from './queue-turn.ts';

/** One writes, the other ones read. */
const MAX_CONNECTIONS = 3;
/** A query that takes longer counts as lost with its connection. */
const QUERY_TIMEOUT_MS = 10_000;
/** Of one statement; a single change may be larger. */
const MAX_BYTES = 2 * 1_048_576;

/**
 * The server ends a connection that was cut off after about 25 s, and with it the lock of a statement that arrived
 * in part. Tables of queues grow and shrink too fast for the statistics of the planner, and are read by their key only.
 */
const SETTINGS = `SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 2;
  SET enable_seqscan = off`;

const OPEN = `
  INSERT INTO messages.bridge_queue (broker, bridge, name, owner, turn) VALUES ($1, $2, $3, $4, 1)
  ON CONFLICT (broker, bridge, name) DO UPDATE SET owner = excluded.owner, turn = bridge_queue.turn + 1
  RETURNING id, turn`;
const NEXT_TURN = 'UPDATE messages.bridge_queue SET turn = turn + 1 WHERE id = $1 AND owner = $2 RETURNING turn';
const CONTENT = `
  SELECT count(*) AS messages, coalesce(sum(bytes), 0) AS bytes, coalesce(max(id), 0) AS last
  FROM messages.bridge_message WHERE queue = $1`;

/** The first message of a page is read whatever its size; the sizes of others are known without reading them. */
const PAGE = `
  SELECT id, bytes, flags, received_at, topic, properties, payload FROM (
    SELECT *, sum(bytes) OVER (ORDER BY id) AS total FROM (
      SELECT * FROM messages.bridge_message WHERE queue = $1 AND id > $2 ORDER BY id LIMIT $3
    ) AS next
  ) AS page
  WHERE total <= $4 OR total = bytes ORDER BY id`;

/**
 * Changes the queues that are still in the turn of their owner, and returns them. The lock delays the next owner, who
 * finds what this statement stores. A message that an earlier attempt has stored is not stored again.
 */
const CHANGE = `
  WITH owned AS (
    SELECT queue.id FROM messages.bridge_queue AS queue
    JOIN unnest($1::int8[], $2::text[], $3::int8[]) AS mine (id, owner, turn) USING (id, owner, turn)
    FOR SHARE OF queue
  ), gone AS (
    DELETE FROM messages.bridge_message AS message
    USING owned, unnest($4::int8[], $5::int8[], $6::int8[]) AS settled (queue, first, last)
    WHERE settled.queue = owned.id AND message.queue = settled.queue
      AND message.id BETWEEN settled.first AND settled.last
  ), stored AS (
    INSERT INTO messages.bridge_message (queue, id, bytes, flags, received_at, topic, properties, payload)
    SELECT message.* FROM unnest(
      $7::int8[], $8::int8[], $9::int4[], $10::int2[], $11::int8[], $12::bytea[], $13::bytea[], $14::bytea[]
    ) AS message (queue, id, bytes, flags, received_at, topic, properties, payload)
    WHERE message.queue IN (SELECT id FROM owned)
    ON CONFLICT (queue, id) DO NOTHING
  )
  SELECT id FROM owned`;

interface Waiting {
  readonly change: QueueChange;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The queues of the bridges of a thread in PostgreSQL. The changes of all queues share a statement and a commit; those
 * that arrive meanwhile join the next one. Errors: those of pg, and QueueTaken.
 */
export class QueueDatabase {
  readonly #pool: pg.Pool;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({
      ...postgresqlConfig(databaseUrl),
      max: MAX_CONNECTIONS,
      query_timeout: QUERY_TIMEOUT_MS,
      allowExitOnIdle: true,
      onConnect: async (client) => {
        await client.query(`${SESSION_SETTINGS}; ${SETTINGS}`);
      },
    });
    // The next query opens another connection, or fails with the reason.
    this.#pool.on('error', () => undefined);
  }

  /** Takes the queue over: a former owner changes it no longer. */
  async open({ brokerId, bridgeId, key }: QueuePlace, owner: string): Promise<QueueTurn & { content: QueueContent }> {
    const [queue] = (await this.#pool.query(OPEN, [brokerId, bridgeId, key, owner])).rows;
    const id = Number(queue.id);
    const [{ messages, bytes, last }] = (await this.#pool.query(CONTENT, [id])).rows;
    const content = { messages: Number(messages), bytes: Number(bytes), lastId: Number(last) };
    return { id, owner, turn: Number(queue.turn), content };
  }

  /** Ends the turn, so that what an earlier statement may still do is undone or done. */
  async nextTurn({ id, owner }: QueueTurn): Promise<QueueTurn> {
    const [queue] = (await this.#pool.query(NEXT_TURN, [id, owner])).rows;
    if (queue === undefined) throw new QueueTaken();
    return { id, owner, turn: Number(queue.turn) };
  }

  /** The messages after this id, in order: at most `limit` and `maxBytes`, but at least one. */
  async page({ id }: QueueTurn, afterId: number, limit: number, maxBytes: number): Promise<QueueRow[]> {
    const { rows } = await this.#pool.query(PAGE, [id, afterId, limit, maxBytes]);
    return rows.map(toRow);
  }

  /** After an error it is not known whether the change was made. A change that is aborted before is not made. */
  change(change: QueueChange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (this.#isWriting) return;
      this.#isWriting = true;
      setImmediate(() => void this.#writeAll());
    });
  }

  /** Deletes the queue with its messages. */
  async remove({ id, owner }: QueueTurn): Promise<void> {
    await this.#pool.query('DELETE FROM messages.bridge_queue WHERE id = $1 AND owner = $2', [id, owner]);
  }

  /** Deletes the queues of the bridge with other keys. */
  async removeOthers({ brokerId, bridgeId }: Omit<QueuePlace, 'key'>, keys: readonly string[]): Promise<void> {
    const sql = 'DELETE FROM messages.bridge_queue WHERE broker = $1 AND bridge = $2 AND name <> ALL ($3::text[])';
    await this.#pool.query(sql, [brokerId, bridgeId, keys]);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #writeAll(): Promise<void> {
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) await this.#write(batch);
    this.#isWriting = false;
  }

  #nextBatch(): Waiting[] {
    this.#waiting = this.#waiting.filter(({ change }) => !change.signal.aborted);
    let bytes = 0;
    let count = 0;
    for (const { change } of this.#waiting) {
      bytes += change.added.reduce((sum, row) => sum + row.bytes, 0);
      if (count > 0 && bytes > MAX_BYTES) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    try {
      const { rows } = await this.#pool.query(CHANGE, parametersOf(batch.map(({ change }) => change)));
      const owned = new Set(rows.map(({ id }) => Number(id)));
      for (const { change, resolve, reject } of batch) {
        if (owned.has(change.turn.id)) resolve();
        else reject(new QueueTaken());
      }
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) {
        for (const each of batch) await this.#write([each]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  }
}

function parametersOf(changes: readonly QueueChange[]): Buffer[] {
  const gone = changes.flatMap(({ turn, gone: ranges }) => ranges.map((range) => ({ ...range, queue: turn.id })));
  const queues = changes.flatMap(({ turn, added }) => added.map(() => turn.id));
  const rows = changes.flatMap(({ added }) => added.map(toColumns));
  return [
    bigints(changes.map(({ turn }) => turn.id)),
    texts(changes.map(({ turn }) => turn.owner)),
    bigints(changes.map(({ turn }) => turn.turn)),
    bigints(gone.map(({ queue }) => queue)),
    bigints(gone.map(({ first }) => first)),
    bigints(gone.map(({ last }) => last)),
    bigints(queues),
    bigints(rows.map(({ id }) => id)),
    integers(rows.map(({ bytes }) => bytes)),
    smallints(rows.map(({ flags }) => flags)),
    bigints(rows.map(({ received_at }) => received_at)),
    byteas(rows.map(({ topic }) => Buffer.from(topic))),
    byteas(rows.map(({ properties }) => properties)),
    byteas(rows.map(({ payload }) => payload)),
  ];
}

/**
 * Classes 22 (data exception), 23 (integrity) and 54 (limits): the change of one queue is refused, and the others must
 * not wait for it.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^(22|23|54)/.test(error.code ?? '');

/** pg returns `bigint` as text. */
const toRow = (row: Omit<QueueColumns, 'topic'> & { readonly topic: Buffer }): QueueRow =>
  fromColumns({
    ...row,
    id: Number(row.id),
    received_at: Number(row.received_at),
    topic: row.topic.toString(),
  });
