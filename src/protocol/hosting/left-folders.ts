import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Folders, each by the id of what it was made for, as a broker or a stream, that belong to none there is: another process deleted it, or
 * this one ended before they were erased. Errors: those of the file system.
 */
export async function leftFolders(folder: string, isThere: (id: string) => boolean): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(noneWithoutFolder);
  return entries.filter((entry) => entry.isDirectory() && !isThere(entry.name)).map(({ name }) => join(folder, name));
}

function noneWithoutFolder(error: unknown): [] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
