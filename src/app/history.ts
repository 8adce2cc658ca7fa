import { join, resolve } from 'node:path';
import { HistoryThread } from '../data-plane/history/hosting/history-thread.ts';
import { MIB } from './brokers.ts';
import type { Foundation } from './foundation.ts';

const DAY_MS = 86_400_000;

/** In the data folder, unless the database is PostgreSQL. */
export const HISTORY_FILE = 'history.db';

/** The history of brokers. Its thread starts when something is written or read. */
export function openHistory({ config, log, closers }: Foundation, workerUrl: URL | undefined): HistoryThread {
  const { dataDir, databaseUrl, minFreeMb, historyDays, historyMaxMb } = config;
  const file = join(resolve(dataDir), HISTORY_FILE);
  return closers.keep(
    new HistoryThread({
      // More than the limit of readiness: the history is the first that gives way.
      place: databaseUrl === undefined ? { file, minFreeBytes: 2 * minFreeMb * MIB } : { databaseUrl },
      keepMs: historyDays * DAY_MS,
      maxBytes: historyMaxMb * MIB,
      workerUrl,
      log,
    }),
  );
}
