import { basename } from 'node:path';
import type { Logger } from 'pino';
import { unknownFolders } from '../../protocol/hosting/unknown-folders.ts';
import { endLeftOverIn } from '../mosquitto/mosquitto-broker.ts';

/**
 * Ends the processes that a service which was killed has left, in folders that bear the ids of brokers: of those that shall run, that shall
 * no more, and that were deleted since. Never rejects.
 */
export async function endLeftBrokers(folder: string, isThere: (id: string) => boolean, log: Logger): Promise<void> {
  try {
    const folders = await unknownFolders(folder, () => false);
    const ended = await Promise.all(folders.map(endLeftOverIn));
    const left = folders.filter((_folder, index) => ended[index]);
    if (left.length > 0) log.warn({ folders: left }, 'ended brokers that an earlier run of this service had left');
    // A broker that is not known may as well be one of a database that this service was meant to have: nothing is erased.
    const unknown = folders.filter((one) => !isThere(basename(one)));
    if (unknown.length > 0) {
      const text = 'folders of brokers that this database does not have are kept; delete what is not needed';
      log.warn({ folders: unknown }, text);
    }
  } catch (error) {
    log.error({ err: error }, 'what an earlier run of this service left could not be looked for');
  }
}
