import { basename } from 'node:path';
import type { Logger } from 'pino';
import { orphanedFolders } from '../../protocol/hosting/orphaned-folders.ts';
import { endLeftOverIn } from '../mosquitto/mosquitto-broker.ts';

/** Ends processes that a killed service has left in the folders of brokers, also of deleted ones. Never rejects. */
export async function endLeftBrokers(folder: string, isThere: (id: string) => boolean, log: Logger): Promise<void> {
  try {
    const folders = await orphanedFolders(folder, () => false);
    const ended = await Promise.all(folders.map(endLeftOverIn));
    const left = folders.filter((_folder, index) => ended[index]);
    if (left.length > 0) log.warn({ folders: left }, 'ended brokers that an earlier run of this service had left');
    // An unknown folder may belong to another database that this service was meant to use, so it is not deleted.
    const unknown = folders.filter((one) => !isThere(basename(one)));
    if (unknown.length > 0) {
      const text = 'folders of brokers that this database does not have are kept; delete what is not needed';
      log.warn({ folders: unknown }, text);
    }
  } catch (error) {
    log.error({ err: error }, 'what an earlier run of this service left could not be looked for');
  }
}
