/** Messages as earlier versions stored them in PostgreSQL: several in a row of `messages.stream_batch`. */
import type pg from 'pg';
import type { LogOwner } from '../log-disk.ts';
import { createPartition } from './log-partitions.ts';
import { COUNTED, NUMBER, OWNED } from './log-statements.ts';

/** A part has up to 32 MiB. */
const PART_TIMEOUT_MS = 60_000;

const FORMER = `
  SELECT number, id, stream.last AS stream_last, base, width, first, segment.last
  FROM messages.stream AS stream LEFT JOIN messages.stream_segment AS segment ON segment.stream = number
  WHERE broker = $1 ORDER BY base`;
const LAST = 'UPDATE messages.log SET last = greatest(last, $2) WHERE number = $1';
const FORMER_ROWS = 'stream = $1 AND width = $2 AND id BETWEEN $3 AND $4';
const COPY = `
  WITH stored AS (
    INSERT INTO messages.log_message (log, width, id, bytes, qos, topic, payload)
    SELECT $5::int4, width, message.id, octet_length(message.payload) + char_length(message.topic) + 32, message.qos,
      message.topic, message.payload
    FROM messages.stream_batch AS batch,
      unnest(ids, batch.qos, topics, payloads) AS message (id, qos, topic, payload)
    WHERE stream = $1 AND width = $2 AND batch.id BETWEEN $3 AND $4
    ON CONFLICT DO NOTHING RETURNING log, width, id, bytes
  ) ${COUNTED}`;

/**
 * Moves the messages of a broker, each part in one transaction: a process that is killed in the midst of it loses and
 * doubles nothing. A process of an earlier version may store others meanwhile, which the next owner moves. Errors:
 * those of the database.
 */
export async function carryOverBatches(pool: pg.Pool, owner: LogOwner): Promise<void> {
  const { rows } = await pool.query(FORMER, [owner.group]);
  for (const row of rows) {
    if (row.base !== null) await createPartition(pool, row.width, Number(row.base));
    const client = await pool.connect();
    try {
      await move(client, owner, row);
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}

async function move(client: pg.ClientBase, owner: LogOwner, row: pg.QueryResultRow): Promise<void> {
  const { number, id, stream_last, base, width, first, last } = row;
  await client.query(`BEGIN; SET LOCAL statement_timeout = ${PART_TIMEOUT_MS}`);
  const { rowCount } = await client.query(OWNED, [owner.key, owner.name, owner.turn]);
  if (rowCount === 0) throw new Error('another process has taken over the stored messages of the broker');
  const log = (await client.query(NUMBER, [owner.group, id])).rows[0].number;
  await client.query(LAST, [log, stream_last]);
  if (base !== null) {
    const range = [number, width, first, last];
    const copy = { text: COPY, values: [...range, log], query_timeout: PART_TIMEOUT_MS };
    await client.query(copy);
    await client.query(`DELETE FROM messages.stream_batch WHERE ${FORMER_ROWS}`, range);
    await client.query('DELETE FROM messages.stream_segment WHERE stream = $1 AND base = $2', [number, base]);
  }
  const left = 'SELECT FROM messages.stream_segment WHERE stream = number';
  await client.query(`DELETE FROM messages.stream WHERE number = $1 AND NOT EXISTS (${left})`, [number]);
  await client.query('COMMIT');
}
