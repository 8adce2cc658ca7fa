import Database from 'better-sqlite3';

/** Whether a database file is corrupt, in contrast to a full or missing disk. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB)/.test(error.code) || error.message.startsWith('no such table');
}
