/** The SQL of logs in PostgreSQL. */

export const OPEN = `
  INSERT INTO messages.log_owner (key, name, turn, broker) VALUES ($1, $2, 1, $3)
  ON CONFLICT (key) DO UPDATE SET name = excluded.name, turn = log_owner.turn + 1
  RETURNING turn`;

export const NEXT_TURNS = `
  UPDATE messages.log_owner AS owner SET turn = owner.turn + 1 FROM unnest($1::text[], $2::text[]) AS mine (key, name)
  WHERE owner.key = mine.key AND owner.name = mine.name RETURNING owner.key, owner.turn`;

export const END = 'DELETE FROM messages.log_owner WHERE key = $1 AND name = $2';

/** The lock delays the next owner, who finds what the transaction of this one changes. */
export const OWNED = 'SELECT FROM messages.log_owner WHERE key = $1 AND name = $2 AND turn = $3 FOR SHARE';

export const LOGS = `
  SELECT number, name, log.last AS log_last, width, messages, bytes, first, part.last
  FROM messages.log AS log LEFT JOIN messages.log_part AS part ON part.log = number
  WHERE broker = $1 ORDER BY part.first`;

export const NUMBER = `
  INSERT INTO messages.log (name, broker) VALUES ($2, $1) ON CONFLICT (name) DO UPDATE SET broker = excluded.broker
  RETURNING number`;

export const NUMBERS = `
  INSERT INTO messages.log (name, broker) SELECT * FROM unnest($1::text[], $2::text[])
  ON CONFLICT (name) DO UPDATE SET broker = excluded.broker RETURNING name, number`;

/** The first id of the partition of a message. */
const START = 'id - id % CASE width WHEN 0 THEN 604800000000 ELSE width * 1000000::bigint END';

/** Counts what the statement with `from` inserts, or deletes: "messages" is 1 or -1. */
const countedFrom = (from: string, messages: string) => `
  INSERT INTO messages.log_part AS part (log, width, start, messages, bytes, first, last)
  SELECT log, width, ${START}, sum(${messages}), sum(bytes * ${messages}), min(id), max(id) FROM ${from} GROUP BY 1, 2, 3
  ON CONFLICT (log, width, start) DO UPDATE SET
    messages = part.messages + excluded.messages, bytes = part.bytes + excluded.bytes,
    first = least(part.first, excluded.first), last = greatest(part.last, excluded.last)`;

/** Counts what the statement with "stored" inserts. */
export const COUNTED = countedFrom('stored', '1');

/**
 * Stores the messages of those logs whose owners have the turns $3, and returns these owners by their indexes. A
 * message that an earlier attempt has stored is not stored again.
 */
const OWNED_STORED = `
  WITH owned AS (
    SELECT mine.index - 1 AS owner FROM messages.log_owner
    JOIN unnest($1::text[], $2::text[], $3::int8[]) WITH ORDINALITY AS mine (key, name, turn, index)
      USING (key, name, turn)
    FOR SHARE OF log_owner
  ), changing AS (
    SELECT logs.log FROM unnest($4::int4[], $5::int4[]) AS logs (log, owner) JOIN owned USING (owner)
  ), stored AS (
    INSERT INTO messages.log_message (log, width, id, bytes, qos, topic, payload)
    SELECT message.* FROM unnest($6::int4[], $7::int4[], $8::int8[], $9::int4[], $10::int2[], $11::text[], $12::bytea[])
      AS message (log, width, id, bytes, qos, topic, payload)
    WHERE message.log IN (SELECT log FROM changing)
    ON CONFLICT DO NOTHING RETURNING log, width, id, bytes
  )`;

export const WRITE = `${OWNED_STORED}, counted AS (${COUNTED})
  SELECT owner FROM owned`;

/** The same, and deletes ranges of ids from logs without ttl. */
export const WRITE_AND_SETTLE = `${OWNED_STORED}, deleted AS (
    DELETE FROM messages.log_message AS message
    USING changing, unnest($13::int4[], $14::int8[], $15::int8[]) AS settled (log, first, last)
    WHERE settled.log = changing.log AND message.log = settled.log AND message.width = 0
      AND message.id BETWEEN settled.first AND settled.last
    RETURNING message.log, message.width, message.id, message.bytes
  ), changed AS (
    SELECT log, width, id, bytes, 1 AS sign FROM stored UNION ALL SELECT log, width, id, bytes, -1 FROM deleted
  ), counted AS (${countedFrom('changed', 'sign')})
  SELECT owner FROM owned`;

/**
 * The messages of some widths from $2 to $3: at most $4, and $5 bytes of payloads, but at least one. The sizes of
 * others are known without reading them. The widths are integers, so that the planner finds the partitions.
 */
export function pageOf(widths: readonly number[], reverse: boolean): string {
  const order = reverse ? 'id DESC' : 'id';
  const ofWidths = widths.map((width) => `width = ${width}`).join(' OR ');
  return `
    SELECT id, topic, qos, payload FROM (
      SELECT *, sum(octet_length(payload)) OVER (ORDER BY ${order}) AS total FROM (
        SELECT id, topic, qos, payload FROM messages.log_message
        WHERE log = $1 AND (${ofWidths}) AND id BETWEEN $2 AND $3 ORDER BY ${order} LIMIT $4
      ) AS next
    ) AS page
    WHERE total <= $5 OR total = octet_length(payload) ORDER BY ${order}`;
}

const OF_PART = 'log = $1 AND width = $2 AND id BETWEEN $3 AND $4';

export const COUNT = `SELECT count(*) AS count FROM messages.log_message WHERE ${OF_PART}`;

/** The oldest $5 messages. */
export const ERASE = `
  WITH doomed AS (
    SELECT id FROM messages.log_message WHERE ${OF_PART} ORDER BY id LIMIT $5
  ), gone AS (
    DELETE FROM messages.log_message
    WHERE log = $1 AND width = $2 AND id BETWEEN $3 AND (SELECT max(id) FROM doomed) RETURNING bytes
  )
  SELECT count(*) AS messages, coalesce(sum(bytes), 0) AS bytes FROM gone`;

/** The first and the last id in the range; null if there is no message. */
export const LEFT = `
  SELECT (SELECT id FROM messages.log_message WHERE ${OF_PART} ORDER BY id LIMIT 1) AS first,
    (SELECT id FROM messages.log_message WHERE ${OF_PART} ORDER BY id DESC LIMIT 1) AS last`;

export const REDUCE = `
  UPDATE messages.log_part SET messages = messages - $4, bytes = bytes - $5, first = $6, last = $7
  WHERE log = $1 AND width = $2 AND start = $3 RETURNING width, messages, bytes, first, last`;
