import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DAMAGED, removeDurableFile, WAL } from '../../../platform/storage/message-files/durable-file.ts';
import { LogWriter } from '../../log/log-writer.ts';
import { LOG_FILE } from '../../log/sqlite/log-files.ts';
import { SqliteDisk } from '../../log/sqlite/sqlite-disk.ts';
import type { BrokerStorage } from './queue-storage.ts';
import { carryOverFiles, lastIdOf, type OpenedQueues, QueueStore } from './queue-store.ts';

/** The queues of a bridge in a file in its folder, with one commit for all. `storage`: default unlimited. */
export const sqliteQueues = (group: string, folder: string, storage: BrokerStorage | undefined): QueueStore =>
  new QueueStore({ group, storage, open: (onDamage) => openQueues(group, folder, onDamage) });

async function openQueues(group: string, folder: string, onDamage: (reason: string) => void): Promise<OpenedQueues> {
  const path = join(folder, LOG_FILE);
  const problems = new Map<string, string>();
  let isOpen = false;
  const disk = new SqliteDisk({
    path,
    waits: true,
    onDamage: (reason) => (isOpen ? onDamage(reason) : problems.set('', reason)),
  });
  try {
    const { owner, logs } = disk.open(group);
    const write = disk.write.bind(disk);
    await carryOverFiles(folder, { group, owner, lastId: lastIdOf(logs), write, problems });
    const writer = new LogWriter({ disk, onProblem: () => undefined });
    isOpen = true;
    const list = () => disk.open(group).logs;
    return {
      disk,
      writer,
      owner,
      problems,
      logs: list,
      close: async ({ discard }) => {
        await writer.close();
        const isEmpty = discard || list().length === 0;
        disk.close();
        if (isEmpty) removeDurableFile(path);
        if (discard) for (const suffix of [DAMAGED, `${WAL}${DAMAGED}`]) rmSync(`${path}${suffix}`, { force: true });
      },
    };
  } catch (error) {
    disk.close();
    throw error;
  }
}
