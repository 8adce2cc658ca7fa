import Database from 'better-sqlite3';

/** The file is not what it was, as against a disk that is full or gone. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB)/.test(error.code) || error.message.startsWith('no such table');
}
