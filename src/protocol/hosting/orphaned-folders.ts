import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders whose names are not known ids: they were left by another process, or by an exit of this one. */
export async function orphanedFolders(folder: string, isKnown: (id: string) => boolean): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(emptyIfMissing);
  return entries.filter((entry) => entry.isDirectory() && !isKnown(entry.name)).map(({ name }) => join(folder, name));
}

function emptyIfMissing(error: unknown): [] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
