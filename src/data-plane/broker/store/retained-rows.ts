import type { Journal } from './journal.ts';
import { fromText, type MessageProperties, toText } from './message-properties.ts';
import type { TopicRange } from './retained-range.ts';

export interface RetainedPacket {
  readonly cmd: 'publish';
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: true;
  readonly properties?: MessageProperties | undefined;
}

interface RetainedRow extends TopicRow {
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly properties: string | null;
}

interface TopicRow {
  readonly topic: string;
  readonly sequence: number;
}

/** Greater than every topic in UTF-8: SQLite sorts BLOBs behind text. */
const END = Buffer.alloc(0);
/** Number of topics that are read at once to be compared with filters. */
const TOPICS = 256;
/** Number of messages that are read at once. Larger ones than SMALL bytes are read one by one. */
const MESSAGES = 100;
/** Maximum size of a message in the table of small messages. Its rows fit on their pages. */
const SMALL = 512;
const PUT = `INSERT INTO retained (topic, sequence, qos, bytes, properties, payload) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (topic) DO UPDATE SET sequence = excluded.sequence, qos = excluded.qos, bytes = excluded.bytes,
    properties = excluded.properties, payload = excluded.payload`;
const PUT_LARGE = `INSERT INTO retained_large (topic, properties, payload) VALUES (?, ?, ?)
  ON CONFLICT (topic) DO UPDATE SET properties = excluded.properties, payload = excluded.payload`;
const SMALL_COLUMNS = 'topic, sequence, qos, length(payload), properties';
/** One BLOB of all payloads is read in a quarter of the time of a BLOB for each. */
const PAYLOADS = `SELECT CAST(group_concat(CAST(payload AS TEXT), '' ORDER BY topic) AS BLOB) FROM retained
  WHERE topic >= ? AND topic <= ?`;

type SmallRow = readonly [
  topic: string,
  sequence: number,
  qos: 0 | 1 | 2,
  /** `null` for a large message. */
  payloadBytes: number | null,
  properties: string | null,
];

/** The retained messages on disk, in the order of their topics. Writes can be read when the journal was flushed. */
export class RetainedRows {
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Reads all rows. */
  totals(): { readonly count: number; readonly bytes: number; readonly sequence: number } {
    const columns = 'count(*) AS count, ifnull(sum(bytes), 0) AS bytes, ifnull(max(sequence), 0) AS sequence';
    const [totals] = this.#journal.rows<{ count: number; bytes: number; sequence: number }>(
      `SELECT ${columns} FROM retained`,
    );
    return totals ?? { count: 0, bytes: 0, sequence: 0 };
  }

  /** Bytes of a message as `sizeOf` counts them; 0 if there is none. */
  sizeOf(topic: string): number {
    const [row] = this.#journal.rows<{ bytes: number }>('SELECT bytes FROM retained WHERE topic = ?', topic);
    return row?.bytes ?? 0;
  }

  /** `bytes`: its `sizeOf`. */
  put({ topic, payload, qos, properties }: RetainedPacket, bytes: number, sequence: number): void {
    const content = [toText(properties), typeof payload === 'string' ? Buffer.from(payload) : payload] as const;
    const isSmall = bytes <= SMALL;
    if (!isSmall) this.#journal.add(PUT_LARGE, topic, ...content);
    this.#journal.add(PUT, topic, sequence, qos, bytes, ...(isSmall ? content : [null, null]));
  }

  remove(topic: string): void {
    this.#journal.add('DELETE FROM retained WHERE topic = ?', topic);
  }

  get(topic: string): RetainedPacket | undefined {
    const row = this.#row(topic);
    return row && packetOf(row);
  }

  #row(topic: string): RetainedRow | undefined {
    return this.#journal.rows<RetainedRow>('SELECT * FROM retained_message WHERE topic = ?', topic)[0];
  }

  /** Reads messages behind the topic `after` (`null`: from the start) until `visit` returns `false`. */
  each(range: TopicRange, after: string | null, visit: (row: RetainedRow) => boolean): void {
    let last = after;
    for (let isFull = true; isFull; ) {
      const sql = `${selectionOf(SMALL_COLUMNS, last)} LIMIT ${MESSAGES}`;
      const rows = this.#journal.tuples<SmallRow>(sql, ...boundsOf(range, last));
      const payloads = this.#payloads(rows);
      let at = 0;
      for (const [topic, sequence, qos, payloadBytes, properties] of rows) {
        const end = at + (payloadBytes ?? 0);
        const payload = payloads.subarray(at, end);
        at = end;
        const row = payloadBytes === null ? this.#row(topic) : { topic, sequence, qos, payload, properties };
        if (row && !visit(row)) return;
        last = topic;
      }
      isFull = rows.length === MESSAGES;
    }
  }

  /** The payloads of adjacent small messages, one behind the other. */
  #payloads(rows: readonly SmallRow[]): Buffer {
    const [first, last] = [rows[0]?.[0] ?? '', rows.at(-1)?.[0] ?? ''];
    return this.#journal.tuples<[Buffer | null]>(PAYLOADS, first, last)[0]?.[0] ?? END;
  }

  /** The next topics behind `after`. */
  topics(range: TopicRange, after: string | null): TopicRow[] {
    return this.#journal.rows(`${selectionOf('topic, sequence', after)} LIMIT ${TOPICS}`, ...boundsOf(range, after));
  }
}

const selectionOf = (columns: string, after: string | null): string =>
  `SELECT ${columns} FROM retained WHERE topic ${after === null ? '>=' : '>'} ? AND topic < ? ORDER BY topic`;

const boundsOf = ({ from, to }: TopicRange, after: string | null) => [after ?? from, to ?? END] as const;

export function packetOf({ topic, payload, qos, properties }: RetainedRow): RetainedPacket {
  const packet = { cmd: 'publish', topic, payload, qos, retain: true } as const;
  return properties === null ? packet : { ...packet, properties: fromText(properties) };
}

/** Bytes of a message on disk, without those of SQLite. */
export function sizeOf({ topic, payload, properties }: RetainedPacket): number {
  const text = toText(properties);
  const bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
  return Buffer.byteLength(topic) + bytes + (text === null ? 0 : Buffer.byteLength(text));
}
