import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyFileInUse, isMissing } from './snapshot.ts';

/**
 * In the data folder, but no data: locks, sockets and ids of processes, and a folder of the file system. The log of an
 * SQLite file is copied with it.
 */
const NO_DATA = /^lock(-journal|\.owner)?$|\.(sock|pid)$|-(wal|shm)$|^lost\+found$/;

/** Paths of the files below a folder, relative to it, in the order of their names. */
export function filesBelow(folder: string, except: readonly string[] = []): string[] {
  const found: string[] = [];
  const visit = (path: string) => {
    for (const entry of entriesOf(join(folder, path))) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (NO_DATA.test(entry.name) || except.includes(below)) continue;
      if (entry.isDirectory()) visit(below);
      else if (entry.isFile()) found.push(below);
    }
  };
  visit('');
  return found.sort();
}

/** Copies a file below the same path of another folder, unless it is deleted meanwhile: messages expire. */
export function copyBelow(from: string, to: string, path: string): void {
  const target = join(to, path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  try {
    copyFileInUse(join(from, path), target);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (!isMissing(error)) throw error;
    return [];
  }
}
