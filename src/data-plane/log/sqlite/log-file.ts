import { DurableFile, isDamage } from '../../../platform/storage/message-files/durable-file.ts';
import type { DiskLog, Erased, LogBatch, PageOptions, StoredLog } from '../log-disk.ts';
import type { IdRange, StoredMessage } from '../log-message.ts';
import { type LogPart, lengthOf, type StoredPart } from '../log-parts.ts';

/** "part" is updated in each transaction, so that what is stored is known without reading the messages. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS log (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, ttl INTEGER NOT NULL, last INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS part (
    log INTEGER NOT NULL, width INTEGER NOT NULL, start INTEGER NOT NULL,
    messages INTEGER NOT NULL, bytes INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (log, width, start)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS message (
    log INTEGER NOT NULL, id INTEGER NOT NULL, width INTEGER NOT NULL, bytes INTEGER NOT NULL,
    qos INTEGER NOT NULL, topic TEXT NOT NULL, payload BLOB NOT NULL,
    PRIMARY KEY (log, id)
  ) WITHOUT ROWID;
`;
const OF_PART = 'log = ? AND width = ? AND id BETWEEN ? AND ?';
const PAGE = 'SELECT id, topic, qos, payload FROM message WHERE log = ? AND id BETWEEN ? AND ? ORDER BY id';
const START = `id - id % ${lengthOf(0)}`;
const STATEMENTS = {
  logs: 'SELECT number, name, ttl, last AS lastId FROM log',
  parts: 'SELECT width, messages, bytes, first, last FROM part WHERE log = ? ORDER BY first',
  addLog: `
    INSERT INTO log (name, ttl, last) VALUES (?, ?, 0) ON CONFLICT (name) DO UPDATE SET ttl = excluded.ttl
    RETURNING number`,
  setTtl: 'UPDATE log SET ttl = ? WHERE number = ?',
  setLast: 'UPDATE log SET last = max(last, ?) WHERE number = ?',
  release: 'UPDATE log SET name = NULL WHERE number = ?',
  drop: 'DELETE FROM log WHERE number = ?',
  settled: `
    SELECT ${START} AS start, count(*) AS messages, sum(bytes) AS bytes
    FROM message WHERE log = ? AND id BETWEEN ? AND ? GROUP BY 1`,
  settle: 'DELETE FROM message WHERE log = ? AND id BETWEEN ? AND ?',
  reduceSettled: `
    UPDATE part SET messages = messages - ?, bytes = bytes - ? WHERE log = ? AND width = 0 AND start = ?`,
  insert: `
    INSERT INTO message (log, id, width, bytes, qos, topic, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`,
  count: `
    INSERT INTO part (log, width, start, messages, bytes, first, last) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (log, width, start) DO UPDATE SET
      messages = messages + excluded.messages, bytes = bytes + excluded.bytes,
      first = min(first, excluded.first), last = max(last, excluded.last)`,
  forwards: `${PAGE} LIMIT ?`,
  backwards: `${PAGE} DESC LIMIT ?`,
  countPart: `SELECT count(*) FROM message WHERE ${OF_PART}`,
  doomed: `
    SELECT count(*) AS messages, coalesce(sum(bytes), 0) AS bytes, max(id) AS last
    FROM (SELECT id, bytes FROM message WHERE ${OF_PART} ORDER BY id LIMIT ?)`,
  erase: `DELETE FROM message WHERE ${OF_PART}`,
  firstLeft: `SELECT id FROM message WHERE ${OF_PART} ORDER BY id LIMIT 1`,
  lastLeft: `SELECT id FROM message WHERE ${OF_PART} ORDER BY id DESC LIMIT 1`,
  reduce: `
    UPDATE part SET messages = messages - ?, bytes = bytes - ?, first = ?, last = ?
    WHERE log = ? AND width = ? AND start = ? RETURNING width, messages, bytes, first, last`,
  dropPart: 'DELETE FROM part WHERE log = ? AND width = ? AND start = ?',
};

/** Free pages are used again. So many may remain for each used one. */
const FREE_SHARE = 1 / 4;
/** Of messages that are carried over. */
const PAGE_BYTES = 1_048_576;
/** Given back at once at most. */
const PAGES = 64;

interface Count {
  readonly start: number;
  readonly width: number;
  messages: number;
  bytes: number;
  readonly first: number;
  last: number;
}

interface Doomed {
  readonly messages: number;
  readonly bytes: number;
  readonly last: number | null;
}

/** The file with the logs of a broker. Errors of all methods: those of SQLite. */
export class LogFile extends DurableFile<keyof typeof STATEMENTS> {
  #isShrinking = false;

  constructor(path: string) {
    super(path, { schema: SCHEMA, cacheKib: 2_048, shrinks: true, statements: STATEMENTS });
  }

  logs(): StoredLog[] {
    const logs = this.statements.logs.all() as Omit<StoredLog, 'parts'>[];
    return logs.map((log) => ({ ...log, parts: this.statements.parts.all(log.number) as StoredPart[] }));
  }

  /** Messages that are there already are left out. */
  write(batches: readonly LogBatch[]): void {
    const { addLog, insert, count } = this.statements;
    const numbers = this.transaction(() =>
      batches.map(({ log, messages, settled = [] }) => {
        const number = log.number ?? Number(addLog.pluck().get(log.name, log.ttl));
        for (const range of settled) this.#settle(number, range);
        const counts = new Map<LogPart, Count>();
        for (const { id, part, bytes, qos, topic, payload } of messages) {
          if (insert.run(number, id, part.width, bytes, qos, topic, payload).changes === 0) continue;
          const { start, width } = part;
          const known = counts.get(part) ?? { start, width, messages: 0, bytes: 0, first: id, last: id };
          known.messages += 1;
          known.bytes += bytes;
          known.last = id;
          counts.set(part, known);
        }
        for (const { start, width, messages, bytes, first, last } of counts.values()) {
          count.run(number, width, start, messages, bytes, first, last);
        }
        return number;
      }),
    );
    // Only now, because a transaction that fails adds no log.
    for (const [index, { log }] of batches.entries()) log.number = numbers[index] ?? null;
  }

  *pages(number: number, limit: number): Generator<StoredMessage[]> {
    for (let from = 0; ; ) {
      const range = { from, to: Number.MAX_SAFE_INTEGER };
      const messages = this.page({ number }, range, { reverse: false, limit, maxBytes: PAGE_BYTES });
      const last = messages.at(-1);
      if (last === undefined) return;
      yield messages;
      from = last.id + 1;
    }
  }

  /** Deletes a log with its messages, however long that takes. */
  remove(number: number): void {
    this.transaction(() => {
      for (const table of ['message', 'part']) this.db.prepare(`DELETE FROM ${table} WHERE log = ?`).run(number);
      this.statements.drop.run(number);
    });
  }

  page(
    { number }: Pick<DiskLog, 'number'>,
    { from, to }: IdRange,
    { reverse, limit, maxBytes }: PageOptions,
  ): StoredMessage[] {
    const page: StoredMessage[] = [];
    let bytes = 0;
    const { forwards, backwards } = this.statements;
    try {
      for (const row of (reverse ? backwards : forwards).iterate(number, from, to, limit)) {
        // The columns of the statement equal the fields of StoredMessage.
        const message = row as StoredMessage;
        bytes += message.payload.length;
        if (page.length > 0 && bytes > maxBytes) break;
        page.push(message);
      }
    } catch (error) {
      // What is before the damage is read first.
      if (page.length === 0 || !isDamage(error)) throw error;
    }
    return page;
  }

  count({ number }: DiskLog, { width }: LogPart, { from, to }: IdRange): number {
    return Number(this.statements.countPart.pluck().get(number, width, from, to));
  }

  erase({ number, lastId: newest }: DiskLog, part: LogPart, { from, to }: IdRange, limit: number): Erased {
    const { doomed, erase, firstLeft, lastLeft, reduce, dropPart, setLast } = this.statements;
    const { width, start, first, last } = part;
    return this.transaction(() => {
      const gone = doomed.get(number, width, from, to, limit) as Doomed;
      const { messages, bytes } = gone;
      erase.run(number, width, from, gone.last ?? from);
      const firstId = firstLeft.pluck().get(number, width, first, last);
      if (firstId === undefined) {
        dropPart.run(number, width, start);
        setLast.run(newest, number);
        return { messages, left: null };
      }
      const lastId = lastLeft.pluck().get(number, width, first, last);
      const left = reduce.get(messages, bytes, firstId, lastId, number, width, start);
      return { messages, left: (left as StoredPart | undefined) ?? null };
    });
  }

  setTtl({ number, ttl }: DiskLog): void {
    this.statements.setTtl.run(ttl, number);
  }

  release({ number }: DiskLog): void {
    this.statements.release.run(number);
  }

  drop({ number }: DiskLog): void {
    if (number !== null) this.remove(number);
  }

  #settle(number: number, { from, to }: IdRange): void {
    const { settled, settle, reduceSettled } = this.statements;
    for (const { start, messages, bytes } of settled.all(number, from, to) as Count[]) {
      reduceSettled.run(messages, bytes, number, start);
    }
    settle.run(number, from, to);
  }

  /** Releases some free pages to the file system. Returns `true` when few are left. */
  shrink(): boolean {
    const pages = (name: string) => Number(this.db.pragma(name, { simple: true }));
    const free = pages('freelist_count');
    const isDone = free <= (pages('page_count') - free) * FREE_SHARE;
    if (!isDone) this.db.pragma(`incremental_vacuum(${PAGES})`);
    // Only now the file becomes shorter.
    else if (this.#isShrinking) this.db.pragma('wal_checkpoint(TRUNCATE)');
    this.#isShrinking = !isDone;
    return isDone;
  }
}
