import { randomUUID } from 'node:crypto';
import { queueKey, queuePath, removeOtherQueues } from '../queue-file.ts';
import type { BrokerStorage } from '../queue-storage.ts';
import type { QueueStore } from '../queue-store.ts';
import { moveFile } from './file-move.ts';
import { PostgresqlDisk } from './postgresql-disk.ts';
import type { QueueDatabase } from './queue-database.ts';

interface PostgresqlQueuesOptions {
  readonly database: QueueDatabase;
  readonly brokerId: string;
  readonly bridgeId: string;
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  /** Where an earlier version stored the queues of the bridge in files. */
  readonly formerFolder: string;
}

/** The queues of one bridge in PostgreSQL: see decision 0035. The file of a queue is moved when the queue is opened. */
export function postgresqlQueues(options: PostgresqlQueuesOptions): QueueStore {
  const { database, brokerId, bridgeId, storage, formerFolder } = options;
  return {
    open: async (name) => {
      const { content, ...turn } = await database.open({ brokerId, bridgeId, key: queueKey(name) }, randomUUID());
      const moved = await moveFile(queuePath(formerFolder, name), { database, turn, content });
      return new PostgresqlDisk({ database, turn, storage, ...moved });
    },
    removeOthers: async (names) => {
      removeOtherQueues(formerFolder, names);
      await database.removeOthers({ brokerId, bridgeId }, names.map(queueKey));
    },
  };
}
