import Database from 'better-sqlite3';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';

/** Reads an SQLite file as an earlier version wrote it, and closes it. A damaged file is set aside. */
export function* formerPages<Page>(
  path: string,
  read: (db: Database.Database) => Iterable<Page>,
  onDamage: (reason: string) => void,
): Generator<Page> {
  let db: Database.Database | null = null;
  try {
    db = new Database(path, { fileMustExist: true });
    // With a journal of its own, as the file was written.
    db.pragma('locking_mode = EXCLUSIVE');
    yield* read(db);
  } catch (error) {
    if (!isDamage(error)) throw error;
    db?.close();
    setAside(path);
    onDamage(`${path} is damaged and was set aside: ${(error as Error).message}`);
  } finally {
    db?.close();
  }
}
