/** The worker thread of all streams that run in the gateway, so that a busy stream does not delay other requests. */
import { join } from 'node:path';
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import { newReadingLimits } from '../../../protocol/mqtt/reading-limits.ts';
import type { LogStore } from '../../log/log-store.ts';
import { LogDatabase } from '../../log/postgresql/postgresql-logs.ts';
import { openSqliteLogs } from '../../log/sqlite/sqlite-logs.ts';
import { StreamEngineCore } from '../engine/stream-engine-core.ts';
import { compileQuery } from '../query/compile-query.ts';
import { MqttStreamSession } from './mqtt-stream-session.ts';
import type { EngineCalls, EngineEvent, EngineSetup } from './stream-thread.ts';

const iterationBatch = new IterationBatch(pauseShortIterations());
const readingLimits = newReadingLimits();

type Problem = (streamId: string | null, reason: string) => void;

const engines = new Set<StreamEngineCore>();
let database: LogDatabase | null = null;

function openLogs({ brokerId, place, maxBytes }: EngineSetup, onProblem: Problem): Promise<LogStore> {
  if ('folder' in place) return openSqliteLogs({ folder: join(place.folder, brokerId), maxBytes, onProblem });
  database ??= new LogDatabase({
    databaseUrl: place.databaseUrl,
    onProblem: () => {
      for (const engine of engines) engine.storageChanged();
    },
    onLost: (reason) => onProblem(null, reason),
  });
  return database.open({ brokerId, maxBytes, onProblem });
}

serveInstances<EngineSetup, EngineCalls, EngineEvent>({
  // Two engines of one broker would share a session and a store.
  keyOf: ({ brokerId }) => brokerId,
  create: async (setup, { emit, problem }) => {
    const { brokerId, session: options } = setup;
    const store = await openLogs(setup, (streamId, reason) =>
      problem('warn', { brokerId, streamId, reason }, 'stored messages of streams have a problem'),
    );
    const session = new MqttStreamSession({
      ...options,
      readingLimits,
      iterationBatch,
      onFault: (error) =>
        problem('error', { brokerId, reason: reasonOf(error) }, 'a stream failed while it processed a message'),
    });
    const engine = new StreamEngineCore({ session, store, compile: compileQuery });
    engines.add(engine);
    engine.onChange((id, report) => emit({ id, report }));
    session.open();
    const close = async (discard: boolean) => {
      engines.delete(engine);
      await engine.close();
      await session.close({ discard });
      await store.close();
    };
    return { api: engine, close };
  },
});
