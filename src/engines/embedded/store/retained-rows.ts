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

const SIZE = 'octet_length(topic) + length(payload) + ifnull(octet_length(properties), 0)';
const COLUMNS = 'topic, payload, qos, properties, sequence';
/** The row stays where it is. */
const REPLACED =
  'payload = excluded.payload, qos = excluded.qos, properties = excluded.properties, sequence = excluded.sequence';
/** Greater than every topic in UTF-8: SQLite sorts BLOBs behind text. */
const END = Buffer.alloc(0);
/** Number of topics that are read at once to be compared with filters. */
const TOPICS = 256;
/** Number of messages that are read at once. Payloads and properties above SMALL bytes are read one by one. */
const MESSAGES = 100;
const SMALL = 512;
const IS_SMALL = `length(payload) <= ${SMALL} AND ifnull(length(properties), 0) <= ${SMALL}`;
const SMALL_COLUMNS = `topic, sequence, qos, iif(${IS_SMALL}, payload, NULL), iif(${IS_SMALL}, properties, NULL)`;

type SmallRow = readonly [
  topic: string,
  sequence: number,
  qos: 0 | 1 | 2,
  payload: Buffer | null,
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
    const columns = `count(*) AS count, ifnull(sum(${SIZE}), 0) AS bytes, ifnull(max(sequence), 0) AS sequence`;
    const [totals] = this.#journal.rows<{ count: number; bytes: number; sequence: number }>(
      `SELECT ${columns} FROM retained`,
    );
    return totals ?? { count: 0, bytes: 0, sequence: 0 };
  }

  /** Bytes of a message as `sizeOf` counts them; 0 if there is none. */
  sizeOf(topic: string): number {
    const [row] = this.#journal.rows<{ size: number }>(`SELECT ${SIZE} AS size FROM retained WHERE topic = ?`, topic);
    return row?.size ?? 0;
  }

  put({ topic, payload, qos, properties }: RetainedPacket, sequence: number): void {
    const sql = `INSERT INTO retained (${COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (topic) DO UPDATE SET ${REPLACED}`;
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    this.#journal.add(sql, topic, bytes, qos, toText(properties), sequence);
  }

  remove(topic: string): void {
    this.#journal.add('DELETE FROM retained WHERE topic = ?', topic);
  }

  get(topic: string): RetainedPacket | undefined {
    const row = this.#row(topic);
    return row && packetOf(row);
  }

  #row(topic: string): RetainedRow | undefined {
    return this.#journal.rows<RetainedRow>(`SELECT ${COLUMNS} FROM retained WHERE topic = ?`, topic)[0];
  }

  /** Reads messages behind the topic `after` (`null`: from the start) until `visit` returns `false`. */
  each(range: TopicRange, after: string | null, visit: (row: RetainedRow) => boolean): void {
    let last = after;
    for (let isFull = true; isFull; ) {
      const sql = `${selectionOf(SMALL_COLUMNS, last)} LIMIT ${MESSAGES}`;
      const rows = this.#journal.tuples<SmallRow>(sql, ...boundsOf(range, last));
      for (const [topic, sequence, qos, payload, properties] of rows) {
        const row = payload === null ? this.#row(topic) : { topic, sequence, qos, payload, properties };
        if (row && !visit(row)) return;
        last = topic;
      }
      isFull = rows.length === MESSAGES;
    }
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
