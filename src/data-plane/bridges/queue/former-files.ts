/** Queues as earlier versions stored them: an SQLite file in the folder of the bridge for each, named after its key. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { isDamage, removeDurableFile } from '../../../platform/storage/message-files/durable-file.ts';
import { readPublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { StoredMessage } from '../../log/log-message.ts';
import { formerPages } from '../../log/sqlite/former-file.ts';
import { toRecord } from './queue-record.ts';

const FILE = /^([0-9a-f]{32})\.sqlite$/;
const PAGE_BYTES = 1_048_576;
const QOS = 0x03;
const RETAIN = 0x04;

interface FormerRow {
  readonly id: number;
  readonly flags: number;
  readonly received_at: number;
  readonly topic: string;
  readonly properties: Buffer | null;
  readonly payload: Buffer;
}

interface FormerQueue {
  readonly key: string;
  /**
   * Pages with ids after `lastId`. A page is deleted from the file when the next one is wanted, so that a process that
   * is killed meanwhile doubles at most one. A damaged file is set aside with what cannot be read.
   */
  pages(limit: number, lastId: number): Iterable<readonly StoredMessage[]>;
  remove(): void;
}

export function formerFiles(folder: string, onDamage: (key: string, reason: string) => void): FormerQueue[] {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return files.flatMap((file) => {
    const [, key] = FILE.exec(file) ?? [];
    if (key === undefined) return [];
    const path = join(folder, file);
    const pages = (limit: number, lastId: number) =>
      formerPages(
        path,
        (db) => pagesOf(db, limit, lastId),
        (reason) => onDamage(key, reason),
      );
    return [{ key, pages, remove: () => removeDurableFile(path) }];
  });
}

function* pagesOf(db: Database.Database, limit: number, lastId: number): Generator<readonly StoredMessage[]> {
  db.pragma('synchronous = FULL');
  const page = db.prepare('SELECT * FROM message ORDER BY id LIMIT ?');
  const settle = db.prepare('DELETE FROM message WHERE id <= ?');
  for (let id = lastId; ; ) {
    const rows = readable(page.iterate(limit) as IterableIterator<FormerRow>);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map((row) => {
      id += 1;
      return toStored(row, id);
    });
    settle.run(last.id);
  }
}

/** Those before a damage, but at most PAGE_BYTES. */
function readable(rows: Iterable<FormerRow>): FormerRow[] {
  const read: FormerRow[] = [];
  let bytes = 0;
  try {
    for (const row of rows) {
      bytes += row.payload.length;
      if (read.length > 0 && bytes > PAGE_BYTES) break;
      read.push(row);
    }
  } catch (error) {
    if (read.length === 0 || !isDamage(error)) throw error;
  }
  return read;
}

function toStored({ flags, received_at, topic, properties, payload }: FormerRow, id: number): StoredMessage {
  const qos = (flags & QOS) as 0 | 1 | 2;
  const message = {
    topic,
    payload,
    qos,
    retain: (flags & RETAIN) !== 0,
    properties: properties === null ? null : readPublishProperties(properties),
    receivedAt: received_at,
  };
  return { id, topic: '', qos, payload: toRecord(message) };
}
