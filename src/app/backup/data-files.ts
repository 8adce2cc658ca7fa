import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { ServiceError } from '../../platform/errors.ts';
import { copyFileInUse, isMissing, WAL } from './snapshot.ts';

/**
 * In the data folder, but no data: locks, sockets and ids of processes, the password of the first start, and a folder
 * of the file system. The log of an SQLite file is copied with it.
 */
const NO_DATA = /^lock(-journal|\.owner)?$|^first-password$|\.(sock|pid)$|-(wal|shm)$|^lost\+found$/;

/**
 * Paths of the files below a folder, relative to it, in the order of their names. Symbolic links are followed: a folder
 * may be on another disk, and a key may be mounted. Errors: ServiceError INVALID (a link has no target, or leads to a
 * folder that contains it, or `without`); those of the file system.
 */
export function filesBelow(folder: string, except: readonly string[] = [], without: string | null = null): string[] {
  const found: string[] = [];
  const visit = (path: string, parents: readonly string[]) => {
    const real = unlessMissing(() => realpathSync(join(folder, path)), null);
    if (real === null) return;
    if (parents.includes(real)) throw unusable(join(folder, path), 'leads to a folder that contains it');
    if (without !== null && isWithin(without, real)) {
      throw unusable(join(folder, path), `leads to a folder that contains ${without}`);
    }
    for (const entry of unlessMissing(() => readdirSync(real, { withFileTypes: true }), [])) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      if (NO_DATA.test(entry.name) || except.includes(below)) continue;
      const target = entry.isSymbolicLink() ? targetOf(join(folder, below)) : entry;
      if (target?.isDirectory()) visit(below, [...parents, real]);
      else if (target?.isFile()) found.push(below);
    }
  };
  visit('', []);
  return found.sort();
}

/** Also the logs that were copied with SQLite files. */
export const withLogs = (folder: string, paths: readonly string[]): string[] => [
  ...new Set(paths.flatMap((path) => (existsSync(join(folder, `${path}${WAL}`)) ? [path, `${path}${WAL}`] : [path]))),
];

/** Copies a file below the same path of another folder, unless it is deleted meanwhile: messages expire. */
export function copyBelow(from: string, to: string, path: string): void {
  const target = join(to, path);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  // The log of an SQLite file is next to the target of a link.
  unlessMissing(() => copyFileInUse(realpathSync(join(from, path)), target), undefined);
}

/** Whether a path, which need not exist, leads to a folder or below it. `folder` has no links. */
export function isWithin(path: string, folder: string): boolean {
  for (let existing = resolve(path); ; existing = dirname(existing)) {
    const real = unlessMissing(() => realpathSync(existing), null);
    if (real !== null) return `${real}${sep}`.startsWith(`${folder}${sep}`);
  }
}

/** `null` if the link was deleted meanwhile. */
function targetOf(link: string): Stats | null {
  try {
    return statSync(link);
  } catch (error) {
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) return null;
    const isLoop = (error as NodeJS.ErrnoException).code === 'ELOOP';
    if (isLoop || isMissing(error)) throw unusable(link, isLoop ? 'leads to itself' : 'has no target', error);
    throw error;
  }
}

const unusable = (link: string, reason: string, cause?: unknown) =>
  new ServiceError('INVALID', `The symbolic link ${link} ${reason}. Correct or delete it`, { cause });

function unlessMissing<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    return otherwise;
  }
}
