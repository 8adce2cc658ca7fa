import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../platform/errors.ts';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import type { LogBatch, LogOwner } from '../../log/log-disk.ts';
import type { LogDatabase } from '../../log/postgresql/postgresql-logs.ts';
import { LOG_FILE, logsIn } from '../../log/sqlite/log-files.ts';
import { carryOverRows } from './former-rows.ts';
import type { BrokerStorage } from './queue-storage.ts';
import {
  carryOverFiles,
  carryOverQueue,
  groupOf,
  lastIdOf,
  logName,
  type OpenedQueues,
  QueueStore,
} from './queue-store.ts';

interface PostgresqlQueuesOptions {
  readonly database: LogDatabase;
  readonly brokerId: string;
  readonly bridgeId: string;
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  /** Where the queues of the bridge were while the service had no database. */
  readonly folder: string;
}

/**
 * The queues of a bridge in PostgreSQL: see decision 0046. What is in its folder, or in the tables of an earlier
 * version, is carried over when they are opened.
 */
export function postgresqlQueues(options: PostgresqlQueuesOptions): QueueStore {
  const { brokerId, bridgeId, storage } = options;
  const group = groupOf(brokerId, bridgeId);
  return new QueueStore({ group, storage, open: () => openQueues(group, options) });
}

async function openQueues(group: string, options: PostgresqlQueuesOptions): Promise<OpenedQueues> {
  const { database, brokerId, bridgeId, folder } = options;
  const { disk, writer } = database;
  const problems = new Map<string, string>();
  const owner = await disk.own(group, group, brokerId);
  const write = (batches: readonly LogBatch[]) => disk.write(batches);
  await carryOverRows(disk.tables.pool, owner, { brokerId, bridgeId }, (key) => logName(group, key));
  const lastId = lastIdOf(await disk.tables.logsOf(group));
  await carryOverLogs(folder, { owner, write, onDamage: (reason) => problems.set('', reason) });
  await carryOverFiles(folder, { group, owner, lastId, write, problems });
  return {
    disk,
    writer,
    owner,
    problems,
    logs: () => disk.tables.logsOf(group),
    close: ({ discard }) => (discard ? disk.tables.end(owner) : undefined),
  };
}

interface MoveOptions {
  readonly owner: LogOwner;
  readonly write: (batches: readonly LogBatch[]) => Promise<void>;
  readonly onDamage: (reason: string) => void;
}

/** From the file of a process without a database. */
async function carryOverLogs(folder: string, { owner, write, onDamage }: MoveOptions): Promise<void> {
  const path = join(folder, LOG_FILE);
  if (!existsSync(path)) return;
  try {
    const { logs, close } = logsIn(folder, (_name, reason) => onDamage(reason));
    try {
      for (const log of logs) {
        await carryOverQueue(log, { owner, write });
        log.remove();
      }
    } finally {
      close();
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    setAside(path);
    onDamage(`${path} is damaged and was set aside: ${messageOf(error)}`);
  }
}
