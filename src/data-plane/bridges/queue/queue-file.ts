import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  DAMAGED,
  DurableFile,
  isDamage,
  removeDurableFile,
  setAside,
  sizeOf,
  WAL,
} from '../../../platform/storage/message-files/durable-file.ts';
import { fromColumns, type QueueColumns, toColumns } from './queue-columns.ts';
import type { Gone, QueueContent, QueueRow } from './queue-disk.ts';

/** Each transaction updates `tally`, so that the content is known without reading the whole file. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, flags INTEGER NOT NULL, received_at INTEGER NOT NULL,
    topic TEXT NOT NULL, properties BLOB, payload BLOB NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tally (messages INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO tally SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM tally);
`;
const STATEMENTS = {
  insert: 'INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)',
  page: 'SELECT * FROM message WHERE id > ? ORDER BY id LIMIT ?',
  deleteBefore: 'DELETE FROM message WHERE id < ?',
  deleteOne: 'DELETE FROM message WHERE id = ?',
  count: 'UPDATE tally SET messages = messages + ?, bytes = bytes + ?',
};

const BEYOND_ALL = 2 ** 52;
const ENDING = '.sqlite';

export class QueueFile extends DurableFile<keyof typeof STATEMENTS> {
  private constructor(path: string) {
    super(path, { schema: SCHEMA, cacheKib: 512, statements: STATEMENTS });
  }

  static open(path: string, onProblem: (reason: string) => void): QueueFile {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      return new QueueFile(path);
    } catch (error) {
      if (!isDamage(error)) throw error;
      setAside(path);
      onProblem(`${path} is damaged and was set aside: ${(error as Error).message}`);
      return new QueueFile(path);
    }
  }

  tally(): Omit<QueueContent, 'lastId'> {
    return this.db.prepare('SELECT messages, bytes FROM tally').get() as Omit<QueueContent, 'lastId'>;
  }

  /** Without the WAL of some MiB at most. */
  size(): number {
    return sizeOf(this.path);
  }

  /** 0 if there is no message. In a damaged file, an id that no message has reached. */
  lastId(): number {
    try {
      return Number(this.db.prepare('SELECT max(id) FROM message').pluck().get() ?? 0);
    } catch (error) {
      if (isDamage(error)) return BEYOND_ALL;
      throw error;
    }
  }

  change(added: readonly QueueRow[], gone: Readonly<Gone>): void {
    const { insert, deleteBefore, deleteOne, count } = this.statements;
    this.transaction(() => {
      let bytes = -gone.bytes;
      if (gone.messages > 0) deleteBefore.run(gone.firstId);
      for (const id of gone.ids) deleteOne.run(id);
      for (const row of added) {
        bytes += row.bytes;
        const { id, flags, received_at, topic, properties, payload } = toColumns(row);
        insert.run(id, row.bytes, flags, received_at, topic, properties, payload);
      }
      count.run(added.length - gone.messages, bytes);
    });
  }

  /** In order, at most `limit` and `maxBytes`, but at least one; of a damaged file those before the damage. */
  page(afterId: number, limit: number, maxBytes: number): QueueRow[] {
    const rows: QueueRow[] = [];
    let bytes = 0;
    try {
      for (const row of this.statements.page.iterate(afterId, limit) as IterableIterator<QueueColumns>) {
        bytes += row.bytes;
        if (rows.length > 0 && bytes > maxBytes) break;
        rows.push(fromColumns(row));
      }
    } catch (error) {
      if (rows.length === 0 || !isDamage(error)) throw error;
    }
    return rows;
  }
}

/** The name of a queue where it is stored, for a name in its bridge, which is any text. */
export const queueKey = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32);

export const queuePath = (folder: string, name: string): string => join(folder, `${queueKey(name)}${ENDING}`);

/** Deletes the file of a closed queue, and what was set aside of it. */
export function removeQueueFile(path: string): void {
  for (const suffix of [DAMAGED, `${WAL}${DAMAGED}`]) rmSync(`${path}${suffix}`, { force: true });
  removeDurableFile(path);
}

export function removeOtherQueues(folder: string, names: readonly string[]): void {
  const remaining = new Set(names.map((name) => queuePath(folder, name)));
  for (const path of pathsIn(folder)) if (path.endsWith(ENDING) && !remaining.has(path)) removeQueueFile(path);
}

function pathsIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((file) => join(folder, file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
