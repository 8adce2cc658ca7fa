import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, ServiceError } from '../../errors.ts';
import { writePrivateFile } from './write-private-file.ts';

export const folderIdFile = (dataDir: string): string => join(dataDir, 'folder.id');

/**
 * The id of a data folder, which is created with the first call. It stays with the folder: in a backup, and on another
 * machine. Only the owner of the folder may call it. Errors: ServiceError INTERNAL_ERROR if the file cannot be used.
 */
export function folderIdOf(dataDir: string): string {
  const file = folderIdFile(dataDir);
  try {
    if (!existsSync(file)) writePrivateFile(file, `${randomUUID()}\n`);
    const id = readFileSync(file, 'utf8').trim();
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) throw new Error('it does not contain an id');
    return id;
  } catch (error) {
    const reason = messageOf(error);
    throw new ServiceError('INTERNAL_ERROR', `The file ${file} cannot be used: ${reason}`, { cause: error });
  }
}
