/** Stored messages as versions before the log wrote them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

export interface FormerMessage {
  readonly id: number;
  readonly text: string;
}

/** A file for each segment of messages. */
export function writeFormerSegments(folder: string, streamId: string, segments: readonly (readonly FormerMessage[])[]) {
  const path = join(folder, streamId);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'ttl'), '3600');
  for (const messages of segments) {
    const db = new Database(join(path, `${messages[0]?.id}.sqlite`));
    db.pragma('journal_mode = WAL');
    db.exec(`
      CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, qos INTEGER NOT NULL, payload BLOB NOT NULL);
      CREATE TABLE tally (messages INTEGER NOT NULL);
      INSERT INTO tally VALUES (${messages.length})`);
    const insert = db.prepare('INSERT INTO message VALUES (?, ?, 1, ?)');
    db.transaction(() => {
      for (const { id, text } of messages) insert.run(id, `t/${text}`, Buffer.from(text));
    })();
    db.close();
  }
}

/** A second ago and later. */
export function formerMessages(count: number, prefix = ''): FormerMessage[] {
  const first = Date.now() * 1_000 - 1_000_000;
  return Array.from({ length: count }, (_, index) => ({ id: first + index, text: `${prefix}${index}` }));
}
