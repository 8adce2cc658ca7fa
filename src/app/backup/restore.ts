import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Closers } from '../../platform/closers.ts';
import { ServiceError } from '../../platform/errors.ts';
import { openDataFolder } from '../../platform/storage/folder/data-folder.ts';
import { diskFaultOf } from '../../platform/storage/folder/disk-faults.ts';
import { SQLITE_FILE } from '../../platform/storage/storage.ts';
import { type BackupOptions, DATA, DUMP } from './backup.ts';
import { withLogs } from './data-files.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { requireEmptyDatabase, requireProgram, restoreDatabase } from './postgresql-programs.ts';

/** In the data folder: the copies until all are complete. */
const UNFINISHED = 'restore.unfinished';
/** In an empty data folder: its lock, and a folder of the file system. */
const NO_DATA = ['lock', 'lock-journal', 'lock.owner', 'lost+found'];

/**
 * Restores a backup to an empty data folder and, with PostgreSQL, an empty database. All files are checked first. The
 * files get their names when all are there, and the database is restored in one transaction. After a process was
 * killed it may run again, but pg_restore may have completed the database, which then must be created again.
 *
 * Errors: ServiceError INVALID (no complete backup, another database), IN_USE (a service runs on the data folder, or
 * the folder or the database is not empty), INTERNAL_ERROR; those of the file system.
 */
export async function restoreBackup(options: BackupOptions): Promise<Manifest> {
  const { dataDir, databaseUrl, backup, env, log } = options;
  const manifest = await readManifest(backup);
  requireEngine(manifest, databaseUrl);
  const folder = resolve(dataDir);
  const closers = new Closers();
  try {
    closers.keep(openDataFolder(dataDir, log));
    const unfinished = join(folder, UNFINISHED);
    rmSync(unfinished, { recursive: true, force: true });
    requireEmptyFolder(folder);
    if (databaseUrl === undefined) copyFiles(manifest, backup, unfinished);
    else {
      await requireEmptyDatabase(databaseUrl);
      await requireProgram('pg_restore', { databaseUrl, env });
      copyFiles(manifest, backup, unfinished);
      await restoreDatabase({ databaseUrl, env }, join(backup, DUMP));
    }
    // The database is last: a service that starts without it would create another.
    for (const name of readdirSync(unfinished).sort((one) => (one === SQLITE_FILE ? 1 : -1))) {
      renameSync(join(unfinished, name), join(folder, name));
    }
    rmSync(unfinished, { recursive: true });
    return manifest;
  } catch (error) {
    const fault = diskFaultOf(error);
    if (fault === null) throw error;
    const unfinished = join(folder, UNFINISHED);
    const rest = existsSync(unfinished) ? `. What was copied is in ${unfinished}, and the next restore deletes it` : '';
    const text = `The restore was not completed: ${fault}${rest}`;
    throw new ServiceError('INTERNAL_ERROR', text, { cause: error });
  } finally {
    await closers.close();
  }
}

function requireEngine({ engine }: Manifest, databaseUrl: string | undefined): void {
  if (engine === 'postgresql' && databaseUrl === undefined) {
    throw new ServiceError('INVALID', 'The backup is of PostgreSQL. Set DATABASE_URL to an empty database');
  }
  if (engine === 'sqlite' && databaseUrl !== undefined) {
    const advice = 'Unset DATABASE_URL, and use `brokergraph migrate --to` afterwards';
    throw new ServiceError('INVALID', `The backup is of SQLite. ${advice}`);
  }
}

function requireEmptyFolder(folder: string): void {
  const [name] = readdirSync(folder).filter((each) => !NO_DATA.includes(each));
  if (name === undefined) return;
  const advice = 'Set DATA_DIR to a folder that does not exist';
  throw new ServiceError('IN_USE', `The data folder ${folder} is not empty: it has ${name}. ${advice}`);
}

/** Only the files that were checked: others may have been added. Earlier backups do not list the logs of SQLite. */
function copyFiles({ files }: Manifest, backup: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  const listed = files.map(({ path }) => path).filter((path) => path.startsWith(`${DATA}/`));
  for (const path of withLogs(backup, listed)) {
    const target = join(to, relative(DATA, path));
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    copyFileSync(join(backup, path), target);
  }
}
