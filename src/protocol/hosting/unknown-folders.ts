import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folders in `folder` whose names are not known ids: another process deleted the broker or stream, or this process
 * exited before it deleted the folder. Errors: those of the file system.
 */
export async function unknownFolders(folder: string, isKnown: (id: string) => boolean): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(emptyIfMissing);
  return entries.filter((entry) => entry.isDirectory() && !isKnown(entry.name)).map(({ name }) => join(folder, name));
}

function emptyIfMissing(error: unknown): [] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
