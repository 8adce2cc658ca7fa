/** Queues as earlier versions stored them in PostgreSQL: rows of `messages.bridge_message`. */
import type pg from 'pg';
import type { LogOwner } from '../../log/log-disk.ts';
import { createPartition } from '../../log/postgresql/log-partitions.ts';
import { COUNTED, NUMBER, OWNED } from '../../log/postgresql/log-statements.ts';

const PAGE_MESSAGES = 1_000;
/** Of messages of any size. */
const PAGE_TIMEOUT_MS = 60_000;

const FORMER = 'SELECT id, name FROM messages.bridge_queue WHERE broker = $1 AND bridge = $2';
/** A process of an earlier version that has the queue open changes it no longer. */
const TAKE = 'UPDATE messages.bridge_queue SET turn = turn + 1, owner = $2 WHERE id = $1';
/** Ids after those of all messages of the log, as `toRecord` writes messages. */
const MOVE = `
  WITH base AS (
    SELECT greatest(
      (SELECT last FROM messages.log WHERE number = $1), (SELECT max(last) FROM messages.log_part WHERE log = $1), $3
    ) AS id
  ), gone AS (
    DELETE FROM messages.bridge_message WHERE queue = $2
      AND id IN (SELECT id FROM messages.bridge_message WHERE queue = $2 ORDER BY id LIMIT ${PAGE_MESSAGES})
    RETURNING *
  ), stored AS (
    INSERT INTO messages.log_message (log, width, id, bytes, qos, topic, payload)
    SELECT $1, 0, base.id + row_number() OVER (ORDER BY gone.id), bytes, flags & 3, '',
      int2send(flags) || float8send(received_at) || int4send(octet_length(topic)) || topic
      || int4send(octet_length(coalesce(properties, ''))) || coalesce(properties, '') || payload
    FROM gone, base RETURNING log, width, id, bytes
  ), counted AS (${COUNTED})
  SELECT count(*) AS messages FROM stored`;

interface FormerPlace {
  readonly brokerId: string;
  readonly bridgeId: string;
}

/**
 * Moves the messages of a bridge behind those of its logs, each page in one transaction: a process that is killed in
 * the midst of it loses and doubles nothing. `logName`: for the name of a former queue. Errors: those of the database.
 */
export async function carryOverRows(
  pool: pg.Pool,
  owner: LogOwner,
  { brokerId, bridgeId }: FormerPlace,
  logName: (key: string) => string,
): Promise<void> {
  const { rows } = await pool.query(FORMER, [brokerId, bridgeId]);
  for (const { id, name } of rows) {
    for (let isMore = true; isMore; ) {
      const now = Date.now() * 1_000;
      await createPartition(pool, 0, now);
      const client = await pool.connect();
      try {
        isMore = await movePage(client, { owner, queue: id, log: logName(name), now });
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
    }
  }
}

interface Page {
  readonly owner: LogOwner;
  readonly queue: string;
  readonly log: string;
  readonly now: number;
}

/** Returns whether there is more. */
async function movePage(client: pg.ClientBase, { owner, queue, log, now }: Page): Promise<boolean> {
  await client.query(`BEGIN; SET LOCAL statement_timeout = ${PAGE_TIMEOUT_MS}`);
  const { rowCount } = await client.query(OWNED, [owner.key, owner.name, owner.turn]);
  if (rowCount === 0) throw new Error('another process has taken over the queues of the bridge');
  await client.query(TAKE, [queue, owner.name]);
  const { number } = (await client.query(NUMBER, [owner.group, log])).rows[0];
  const move = { text: MOVE, values: [number, queue, now], query_timeout: PAGE_TIMEOUT_MS };
  const { messages } = (await client.query(move)).rows[0];
  const isMore = Number(messages) === PAGE_MESSAGES;
  if (!isMore) await client.query('DELETE FROM messages.bridge_queue WHERE id = $1', [queue]);
  await client.query('COMMIT');
  return isMore;
}
