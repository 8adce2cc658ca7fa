/**
 * Messages as earlier versions stored them: a folder for each stream, with an SQLite file (segment) for each period,
 * named after its first message id, and a file with the ttl.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import {
  DAMAGED,
  durableBytes,
  isDamage,
  removeDurableFile,
} from '../../../platform/storage/message-files/durable-file.ts';
import type { StoredMessage } from '../log-message.ts';
import type { SourceLog } from '../log-source.ts';
import { formerPages } from './former-file.ts';

const REMOVED = '.removed';
const TTL_FILE = 'ttl';

type Problem = (name: string | null, reason: string) => void;

/** The former folders of the streams of a broker. */
export function formerSegments(folder: string, onProblem: Problem): SourceLog[] {
  return foldersIn(folder).flatMap((name) => {
    const path = join(folder, name);
    // A removal was interrupted.
    if (name.endsWith(REMOVED)) rmSync(path, { recursive: true, force: true });
    const streamId = streamIdOf(name);
    return streamId === null ? [] : [formerLog(path, streamId, onProblem)];
  });
}

function formerLog(path: string, name: string, onProblem: Problem): SourceLog {
  const files = readdirSync(path).filter((file) => /^\d{1,16}\.sqlite$/.test(file));
  const ordered = files.sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
  const segments = ordered.map((file) => join(path, file));
  const ttlFile = join(path, TTL_FILE);
  const ttl = existsSync(ttlFile) ? Number(readFileSync(ttlFile, 'utf8')) || 0 : 0;
  const onDamage = (reason: string) => onProblem(name, reason);
  return {
    name,
    ttl,
    bytes: segments.reduce((sum, segment) => sum + durableBytes(segment), 0),
    get messages() {
      return segments.reduce((sum, segment) => sum + messagesIn(segment), 0);
    },
    *pages(limit) {
      for (const segment of segments) yield* formerPages(segment, (db) => pagesOf(db, limit), onDamage);
    },
    remove: () => removeFolder(path, segments),
  };
}

/** 0 for a damaged segment. */
function messagesIn(path: string): number {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    return Number(db.prepare('SELECT messages FROM tally').pluck().get() ?? 0);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return 0;
  } finally {
    db.close();
  }
}

function* pagesOf(db: Database.Database, limit: number): Generator<StoredMessage[]> {
  const page = db.prepare('SELECT id, topic, qos, payload FROM message WHERE id > ? ORDER BY id LIMIT ?');
  for (let after = 0; ; ) {
    const messages = page.all(after, limit) as StoredMessage[];
    const last = messages.at(-1);
    if (last === undefined) return;
    yield messages;
    after = last.id;
  }
}

/** Leaves what was set aside. */
function removeFolder(path: string, segments: readonly string[]): void {
  for (const segment of segments) removeDurableFile(segment);
  const rest = readdirSync(path);
  if (!rest.some((name) => name.includes(DAMAGED))) rmSync(path, { recursive: true, force: true });
}

function streamIdOf(name: string): string | null {
  if (/^~(?:[0-9a-f]{2})+$/.test(name)) return Buffer.from(name.slice(1), 'hex').toString();
  return /^[a-z0-9_-]{1,100}$/.test(name) ? name : null;
}

export function foldersIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
