import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';

/** A third faster for messages of 1 kB than SQLite's default of 4 kB, and as fast for small ones. */
const PAGE_BYTES = 8_192;
/** Pages after which the WAL is checkpointed. More pages need more disk per open file, fewer pages more fsyncs. */
const CHECKPOINT_PAGES = 256;
/** Size to which the WAL is truncated after a large message. */
const WAL_BYTES = 4 * 1_048_576;

/** File name suffixes. Damaged files are never read again; an administrator may. */
export const WAL = '-wal';
export const DAMAGED = '.damaged';

interface DurableFileOptions<Name extends string> {
  /** Creates the tables of a new file. `null`: the file must exist. */
  readonly schema: string | null;
  readonly cacheKib: number;
  /** Whether free pages can be given back to the file system. Default: false. */
  readonly shrinks?: boolean;
  /** SQL of the prepared statements. */
  readonly statements: Readonly<Record<Name, string>>;
}

/**
 * An open SQLite file of messages. WAL mode with synchronous=FULL: committed messages survive a killed process and a
 * power failure. With exclusive locking SQLite needs no shared-memory file. Errors: those of SQLite.
 */
export class DurableFile<Name extends string> {
  readonly path: string;
  protected readonly db: Database.Database;
  protected readonly statements: Readonly<Record<Name, Database.Statement>>;

  constructor(path: string, { schema, cacheKib, shrinks, statements }: DurableFileOptions<Name>) {
    this.path = path;
    this.db = new Database(path, { fileMustExist: schema === null, timeout: 1_000 });
    try {
      this.db.pragma(`page_size = ${PAGE_BYTES}`);
      if (shrinks === true) this.db.pragma('auto_vacuum = INCREMENTAL');
      this.db.pragma('locking_mode = EXCLUSIVE');
      this.db.pragma('journal_mode = WAL');
      this.db.pragma('synchronous = FULL');
      this.db.pragma(`cache_size = -${cacheKib}`);
      this.db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.db.pragma(`journal_size_limit = ${WAL_BYTES}`);
      if (schema !== null) this.db.exec(schema);
      const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, this.db.prepare(sql)]);
      this.statements = Object.fromEntries(prepared) as Record<Name, Database.Statement>;
    } catch (error) {
      this.db.close();
      throw error;
    }
  }

  close(): void {
    this.db.close();
  }

  protected transaction<T>(work: () => T): T {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.db.inTransaction) this.db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** Whether a database file is corrupt, in contrast to a full or missing disk. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Database.SqliteError)) return false;
  return /^SQLITE_(CORRUPT|NOTADB)/.test(error.code) || error.message.startsWith('no such table');
}

/** Renames a closed, damaged file and its WAL, and returns the new paths. An earlier damaged file is replaced. */
export function setAside(path: string): string[] {
  const present = partsOf(path).filter((part) => existsSync(part));
  for (const part of present) renameSync(part, `${part}${DAMAGED}`);
  return present.map((part) => `${part}${DAMAGED}`);
}

/** Deletes a closed file with its WAL. A missing file counts as deleted. */
export function removeDurableFile(path: string): void {
  for (const part of partsOf(path)) rmSync(part, { force: true });
}

/** Bytes on disk, including the WAL. */
export const durableBytes = (path: string): number => partsOf(path).reduce((sum, part) => sum + sizeOf(part), 0);

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const partsOf = (path: string): readonly string[] => [path, `${path}${WAL}`];
