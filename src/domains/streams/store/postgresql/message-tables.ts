import pg from 'pg';
import { poolConfig } from '../../../../platform/storage/postgresql-connection.ts';
import type { IdRange, StoredMessage } from '../message-store.ts';
import type { StoredSegment } from './stored-segments.ts';

const MAX_CONNECTIONS = 4;

interface StoredStream {
  readonly id: string;
  readonly number: number;
  readonly segments: readonly StoredSegment[];
}

interface PageOptions {
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

const SEGMENTS = `
  SELECT id, number, base, width, messages, bytes, first, last
  FROM messages.stream LEFT JOIN messages.stream_segment ON stream = number`;
const OF_SEGMENT = 'stream = $1 AND width = $2 AND id BETWEEN $3 AND $4';
const BYTES_OF = 'octet_length(payload)';

/** The first message of a page is read whatever its size; the sizes of others are known without reading them. */
const pageSql = (order: 'ASC' | 'DESC') => `
  SELECT id, topic, qos, payload FROM (
    SELECT *, sum(${BYTES_OF}) OVER (ORDER BY id ${order}) AS bytes FROM (
      SELECT id, topic, qos, payload FROM messages.stream_message WHERE ${OF_SEGMENT} ORDER BY id ${order} LIMIT $5
    ) AS next
  ) AS page
  WHERE bytes <= $6 OR bytes = ${BYTES_OF} ORDER BY id ${order}`;
const [FORWARDS, BACKWARDS] = [pageSql('ASC'), pageSql('DESC')];

const COUNT_AGAIN = `
  UPDATE messages.stream_segment AS segment SET
    messages = stored.messages, bytes = stored.bytes, first = stored.first, last = stored.last
  FROM (
    SELECT count(*) AS messages, sum(${BYTES_OF} + octet_length(topic) + $6) AS bytes, min(id) AS first, max(id) AS last
    FROM messages.stream_message WHERE ${OF_SEGMENT}
  ) AS stored
  WHERE segment.stream = $1 AND segment.base = $5 AND stored.messages > 0
  RETURNING segment.base, segment.width, segment.messages, segment.bytes, segment.first, segment.last`;

/** Reads and deletes stored messages, on connections that all streams of a thread share. Errors: those of pg. */
export class MessageTables {
  readonly pool: pg.Pool;

  constructor(databaseUrl: string, onLost: (error: Error) => void) {
    const application_name = 'brokergraph stored messages';
    this.pool = new pg.Pool({ ...poolConfig(databaseUrl), application_name, max: MAX_CONNECTIONS });
    this.pool.on('error', onLost);
  }

  ofBroker(brokerId: string): Promise<StoredStream[]> {
    return this.#streams(`${SEGMENTS} WHERE broker = $1`, brokerId);
  }

  async segmentsOf(streamId: string): Promise<readonly StoredSegment[]> {
    const [stream] = await this.#streams(`${SEGMENTS} WHERE id = $1`, streamId);
    return stream?.segments ?? [];
  }

  /** The number of a stream, which it gets now if it has none. */
  async numberOf(brokerId: string, streamId: string): Promise<number> {
    const sql = `INSERT INTO messages.stream (id, broker) VALUES ($1, $2)
      ON CONFLICT (id) DO UPDATE SET broker = excluded.broker RETURNING number`;
    const { rows } = await this.pool.query(sql, [streamId, brokerId]);
    return Number(rows[0].number);
  }

  /** Forgets a stream and its number, after its messages were deleted. */
  async remove(stream: number): Promise<void> {
    await this.pool.query('DELETE FROM messages.stream WHERE number = $1', [stream]);
  }

  async page(stream: number, { width }: StoredSegment, { from, to }: IdRange, options: PageOptions) {
    const { reverse, limit, maxBytes } = options;
    const sql = reverse ? BACKWARDS : FORWARDS;
    const { rows } = await this.pool.query(sql, [stream, width, from, to, limit, maxBytes]);
    return rows.map((row): StoredMessage => ({ ...row, id: Number(row.id) }));
  }

  async count(stream: number, { width }: StoredSegment, { from, to }: IdRange): Promise<number> {
    const sql = `SELECT count(*) AS count FROM messages.stream_message WHERE ${OF_SEGMENT}`;
    const { rows } = await this.pool.query(sql, [stream, width, from, to]);
    return Number(rows[0].count);
  }

  /** Returns those of the ids that are stored. */
  async storedIds(stream: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const sql = 'SELECT id FROM messages.stream_message WHERE stream = $1 AND id = ANY ($2::bigint[])';
    const { rows } = await this.pool.query(sql, [stream, ids]);
    return new Set(rows.map(({ id }) => Number(id)));
  }

  /** Deletes the messages of a segment within the range. Returns their number, and what is left of the segment. */
  async erase(stream: number, segment: StoredSegment, { from, to }: IdRange, messageBytes: number) {
    const { width, base, first, last } = segment;
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const sql = `DELETE FROM messages.stream_message WHERE ${OF_SEGMENT}`;
      const { rowCount } = await client.query(sql, [stream, width, from, to]);
      const isWhole = from <= first && to >= last;
      const left = isWhole
        ? []
        : (await client.query(COUNT_AGAIN, [stream, width, first, last, base, messageBytes])).rows.map(toSegment);
      if (left.length === 0) {
        await client.query('DELETE FROM messages.stream_segment WHERE stream = $1 AND base = $2', [stream, base]);
      }
      await client.query('COMMIT');
      client.release();
      return { removed: rowCount ?? 0, left: left[0] ?? null };
    } catch (error) {
      // The state of the transaction is unknown.
      client.release(true);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  async #streams(sql: string, id: string): Promise<StoredStream[]> {
    const { rows } = await this.pool.query(sql, [id]);
    const streams = new Map<string, { id: string; number: number; segments: StoredSegment[] }>();
    for (const row of rows) {
      const known = streams.get(row.id);
      const stream = known ?? { id: String(row.id), number: Number(row.number), segments: [] };
      if (row.base !== null) stream.segments.push(toSegment(row));
      streams.set(row.id, stream);
    }
    return [...streams.values()];
  }
}

/** pg returns `bigint` as text. */
const toSegment = (row: Record<keyof StoredSegment, unknown>): StoredSegment => ({
  base: Number(row.base),
  width: Number(row.width),
  messages: Number(row.messages),
  bytes: Number(row.bytes),
  first: Number(row.first),
  last: Number(row.last),
});
