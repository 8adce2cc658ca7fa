import { existsSync } from 'node:fs';
import { isDamage, removeDurableFile, setAside } from '../../../../platform/storage/message-files/durable-file.ts';
import { nothingGone, type QueueContent } from '../queue-disk.ts';
import { QueueFile } from '../queue-file.ts';
import type { QueueDatabase } from './queue-database.ts';
import type { QueueTurn } from './queue-turn.ts';

interface MoveTarget {
  readonly database: QueueDatabase;
  readonly turn: QueueTurn;
  readonly content: QueueContent;
}

interface Moved {
  readonly content: QueueContent;
  readonly problem: string | null;
}

const PAGE_MESSAGES = 1_000;
const PAGE_BYTES = 1_048_576;

/**
 * Moves the messages of a queue from its file, if there is one, behind those in the database. Returns what the database
 * then has, and the reason if the file is damaged: it is set aside with what cannot be read. After an interruption the
 * rest is moved; at most one page of messages then exists twice. Errors: those of the disk or the database.
 */
export async function moveFile(path: string, { database, turn, content }: MoveTarget): Promise<Moved> {
  if (!existsSync(path)) return { content, problem: null };
  let { messages, bytes, lastId } = content;
  let problem: string | null = null;
  const file = QueueFile.open(path, (reason) => {
    problem = reason;
  });
  try {
    const { signal } = new AbortController();
    for (;;) {
      const rows = file.page(0, PAGE_MESSAGES, PAGE_BYTES);
      const last = rows.at(-1);
      if (last === undefined) break;
      const added = rows.map((row) => {
        lastId += 1;
        return { ...row, id: lastId };
      });
      await database.change({ turn, added, gone: [], signal });
      const pageBytes = rows.reduce((sum, row) => sum + row.bytes, 0);
      file.change([], { ...nothingGone(), messages: rows.length, bytes: pageBytes, firstId: last.id + 1 });
      messages += rows.length;
      bytes += pageBytes;
    }
  } catch (error) {
    file.close();
    if (!isDamage(error)) throw error;
    setAside(path);
    return { content: { messages, bytes, lastId }, problem: `${path} is damaged and was set aside: ${error}` };
  }
  file.close();
  removeDurableFile(path);
  return { content: { messages, bytes, lastId }, problem };
}
