import pg from 'pg';
import { poolConfig } from '../../../../platform/storage/postgresql/postgresql-connection.ts';
import type { IdRange, StoredMessage } from '../message-store.ts';
import { MAX_SPAN } from './message-batches.ts';
import { type StoredSegment, StoredSegments } from './stored-segments.ts';

const MAX_CONNECTIONS = 4;

interface StoredStream {
  readonly id: string;
  readonly number: number;
  readonly segments: StoredSegments;
}

interface PageOptions {
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

const SEGMENTS = `
  SELECT id, number, stream.last AS last_id, base, width, messages, bytes, first, segment.last
  FROM messages.stream AS stream LEFT JOIN messages.stream_segment AS segment ON segment.stream = number`;

/** The rows that may have messages with ids from $3 to $4; see MAX_SPAN. */
const ROWS = `stream = $1 AND width = $2 AND stored.id BETWEEN $3::bigint - ${MAX_SPAN} AND $4 AND stored.last >= $3`;
const STORED = `messages.stream_batch AS stored, unnest(ids, qos, topics, payloads) AS message (id, qos, topic, payload)`;

/**
 * The last or, backwards, the first id of a page from $3 to $4 with $5 messages or $6 bytes, at the border of a row.
 * Counts rows that are wholly within the range, and reads only those of the page. No row if the page is the whole
 * range. LIMIT makes the server read in the order of the index.
 */
const END_FORWARDS = `
  SELECT id - 1 AS id FROM (
    SELECT id, sum(cardinality(ids)) OVER before AS messages, bytes + sum(bytes) OVER before AS bytes
    FROM (
      SELECT id, ids, bytes FROM messages.stream_batch
      WHERE stream = $1 AND width = $2 AND id BETWEEN $3 AND $4 ORDER BY id LIMIT $5::bigint + 1
    ) AS next
    WINDOW before AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  ) AS next
  WHERE messages >= $5 OR bytes > $6 ORDER BY id LIMIT 1`;
const END_BACKWARDS = `
  SELECT CASE WHEN bytes > $6 THEN coalesce(newer, id) ELSE id END AS id FROM (
    SELECT id, lag(id) OVER since AS newer, sum(cardinality(ids)) OVER since AS messages, sum(bytes) OVER since AS bytes
    FROM (
      SELECT id, ids, bytes FROM messages.stream_batch
      WHERE stream = $1 AND width = $2 AND id BETWEEN $3 AND $4 AND last <= $4 ORDER BY id DESC LIMIT $5
    ) AS next
    WINDOW since AS (ORDER BY id DESC ROWS UNBOUNDED PRECEDING)
  ) AS next
  WHERE messages >= $5 OR bytes >= $6 ORDER BY next.id DESC LIMIT 1`;

const MESSAGES = `SELECT message.* FROM ${STORED} WHERE ${ROWS} AND message.id BETWEEN $3 AND $4`;

const STORED_IDS = `
  SELECT wanted.id FROM unnest($3::bigint[]) AS wanted (id) WHERE EXISTS (
    SELECT FROM messages.stream_batch AS stored
    WHERE stream = $1 AND width = $2 AND stored.id BETWEEN wanted.id - ${MAX_SPAN} AND wanted.id AND wanted.id = ANY (ids)
  )`;

const COUNT = `
  SELECT coalesce(sum(CASE
    WHEN stored.id >= $3 AND stored.last <= $4 THEN cardinality(ids)
    ELSE (SELECT count(*) FROM unnest(ids) AS one WHERE one BETWEEN $3 AND $4)
  END), 0) AS count
  FROM messages.stream_batch AS stored WHERE ${ROWS}`;

const LOCK_SEGMENT = 'SELECT FROM messages.stream_segment WHERE stream = $1 AND base = $2 FOR UPDATE';
const DELETE_ROWS = `
  DELETE FROM messages.stream_batch WHERE stream = $1 AND width = $2 AND id BETWEEN $3 AND $4 AND last <= $4`;
/** When whole rows are deleted: those at the ends of the range, which have other messages, too. */
const CUT_ROWS = `
  UPDATE messages.stream_batch AS stored SET (id, last, bytes, ids, qos, topics, payloads) = (
    SELECT min(id), max(id), sum(octet_length(payload)), array_agg(id ORDER BY id), array_agg(message.qos ORDER BY id),
      array_agg(topic ORDER BY id), array_agg(payload ORDER BY id)
    FROM unnest(ids, qos, topics, payloads) AS message (id, qos, topic, payload) WHERE id NOT BETWEEN $3 AND $4
  ) WHERE ${ROWS} AND (stored.id < $3 OR stored.last > $4)`;

const COUNT_AGAIN = `
  UPDATE messages.stream_segment AS segment SET
    messages = counted.messages, bytes = counted.bytes, first = counted.first, last = counted.last
  FROM (
    SELECT count(*) AS messages, sum(octet_length(payload) + octet_length(topic) + $6) AS bytes,
      min(message.id) AS first, max(message.id) AS last
    FROM ${STORED} WHERE ${ROWS} AND message.id BETWEEN $3 AND $4
  ) AS counted
  WHERE segment.stream = $1 AND segment.base = $5 AND counted.messages > 0
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

  /** `null` if it has no row. */
  async ofStream(streamId: string): Promise<StoredStream | null> {
    const [stream = null] = await this.#streams(`${SEGMENTS} WHERE id = $1`, streamId);
    return stream;
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

  /**
   * Messages within a segment. Reads hardly more than it returns, because the sizes of rows are known; only a message
   * that is larger than a page may be read in vain.
   */
  async page(stream: number, { width }: StoredSegment, range: IdRange, options: PageOptions): Promise<StoredMessage[]> {
    const { reverse, limit, maxBytes } = options;
    for (;;) {
      const values = [stream, width, range.from, range.to, limit, maxBytes];
      const ends = await this.pool.query(reverse ? END_BACKWARDS : END_FORWARDS, values);
      const end = ends.rows.length === 0 ? null : Number(ends.rows[0].id);
      const from = reverse ? (end ?? range.from) : range.from;
      const to = reverse ? range.to : (end ?? range.to);
      const { rows } = await this.pool.query(MESSAGES, [stream, width, from, to]);
      // All of the page was deleted meanwhile.
      if (rows.length === 0 && end !== null) continue;
      const messages = rows.map((row): StoredMessage => ({ ...row, id: Number(row.id) }));
      messages.sort(reverse ? (one, other) => other.id - one.id : (one, other) => one.id - other.id);
      return bounded(messages, options);
    }
  }

  async count(stream: number, { width }: StoredSegment, { from, to }: IdRange): Promise<number> {
    const { rows } = await this.pool.query(COUNT, [stream, width, from, to]);
    return Number(rows[0].count);
  }

  /** Returns those of the ids that are stored in partitions of this width. */
  async storedIds(stream: number, width: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const { rows } = await this.pool.query(STORED_IDS, [stream, width, ids]);
    return new Set(rows.map(({ id }) => Number(id)));
  }

  /** Deletes the messages of a segment within the range. Returns their number, and what is left of the segment. */
  async erase(stream: number, segment: StoredSegment, { from, to }: IdRange, messageBytes: number) {
    const { width, base, first, last } = segment;
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const range = [stream, width, from, to];
      // Another one may delete a part of the same rows.
      await client.query(LOCK_SEGMENT, [stream, base]);
      const { rows } = await client.query(COUNT, range);
      await client.query(DELETE_ROWS, range);
      await client.query(CUT_ROWS, range);
      const isWhole = from <= first && to >= last;
      const left = isWhole
        ? []
        : (await client.query(COUNT_AGAIN, [stream, width, first, last, base, messageBytes])).rows.map(toSegment);
      if (left.length === 0) {
        await client.query('DELETE FROM messages.stream_segment WHERE stream = $1 AND base = $2', [stream, base]);
      }
      await client.query('COMMIT');
      client.release();
      return { removed: Number(rows[0].count), left: left[0] ?? null };
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
    const streams = new Map<string, { number: number; lastId: number; segments: StoredSegment[] }>();
    for (const row of rows) {
      const known = streams.get(row.id);
      const stream = known ?? { number: Number(row.number), lastId: Number(row.last_id), segments: [] };
      if (row.base !== null) stream.segments.push(toSegment(row));
      streams.set(row.id, stream);
    }
    return Array.from(streams, ([id, { number, lastId, segments }]) => {
      return { id, number, segments: new StoredSegments(segments, lastId) };
    });
  }
}

/** The first messages; one of them whatever its size. */
function bounded(messages: StoredMessage[], { limit, maxBytes }: PageOptions): StoredMessage[] {
  let bytes = 0;
  const end = messages.findIndex(({ payload }, index) => {
    bytes += payload.length;
    return index >= limit || (index > 0 && bytes > maxBytes);
  });
  return end < 0 ? messages : messages.slice(0, end);
}

/** pg returns `bigint` as text. */
const toSegment = (row: Record<Exclude<keyof StoredSegment, 'waiting'>, unknown>): StoredSegment => ({
  base: Number(row.base),
  width: Number(row.width),
  messages: Number(row.messages),
  bytes: Number(row.bytes),
  first: Number(row.first),
  last: Number(row.last),
  waiting: 0,
});
