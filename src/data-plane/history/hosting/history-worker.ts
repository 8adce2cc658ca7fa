/** The worker thread of the history. Statements of SQLite and of PostgreSQL do not delay the main thread. */
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import { reasonOf, serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import { historyModules } from '../modules.ts';
import { HistoryCore } from '../store/history-core.ts';
import type { HistoryDatabase } from '../store/history-database.ts';
import type { HistoryCalls, HistoryEvent, HistorySetup } from './history-thread.ts';

async function databaseOf(place: HistorySetup['place']): Promise<HistoryDatabase> {
  if ('file' in place) {
    const { SqliteHistory } = await import('../store/sqlite-history.ts');
    return new SqliteHistory(place);
  }
  const { PostgresqlHistory } = await import('../store/postgresql-history.ts');
  return new PostgresqlHistory(place.databaseUrl);
}

serveInstances<HistorySetup, HistoryCalls, HistoryEvent>({
  keyOf: () => 'history',
  create: async ({ place, keepMs, maxBytes }, { emit, problem }) => {
    const open = async () => {
      const core = new HistoryCore({
        database: await databaseOf(place),
        modules: historyModules(),
        keepMs,
        maxBytes,
        onState: emit,
        onCut: (cut) =>
          problem('warn', cut, 'the history exceeded HISTORY_MAX_MB: oldest rows of a table were deleted'),
        onProblem: (error) => problem('warn', { reason: reasonOf(error) }, 'the history has a problem'),
      });
      try {
        await core.open();
        return core;
      } catch (error) {
        await core.close();
        throw error;
      }
    };
    const core = await open().catch((error: unknown) => {
      if (!('file' in place) || !isDamage(error)) throw error;
      const files = setAside(place.file);
      problem('error', { files, reason: reasonOf(error) }, 'the history is damaged, and begins again');
      return open();
    });
    return {
      api: {
        write: (batches) => core.write(batches),
        query: (module, name, args) => core.query(module, name, args),
        maintain: (now) => core.maintain(now),
      },
      close: () => core.close(),
    };
  },
});
