/** The worker thread of all streams that run in the gateway, so that a busy stream does not delay other requests. */
import { join } from 'node:path';
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import { newReadingLimits } from '../../../protocol/mqtt/reading-limits.ts';
import { StreamEngineCore } from '../engine/stream-engine-core.ts';
import { compileQuery } from '../query/compile-query.ts';
import type { MessageStore } from '../store/message-store.ts';
import { MessageDatabase, PostgresqlStore } from '../store/postgresql/postgresql-store.ts';
import { SegmentStore } from '../store/segment-store.ts';
import { MqttStreamSession } from './mqtt-stream-session.ts';
import type { EngineCalls, EngineEvent, EngineSetup } from './stream-thread.ts';

const iterationBatch = new IterationBatch(pauseShortIterations());
const readingLimits = newReadingLimits();

type Problem = (streamId: string | null, reason: string) => void;

const engines = new Set<StreamEngineCore>();
let database: MessageDatabase | null = null;

function openStore(
  { brokerId, place, maxBytes }: EngineSetup,
  onProblem: Problem,
): MessageStore | Promise<MessageStore> {
  if ('folder' in place) return new SegmentStore({ folder: join(place.folder, brokerId), maxBytes, onProblem });
  database ??= new MessageDatabase({
    databaseUrl: place.databaseUrl,
    onProblem: () => {
      for (const engine of engines) engine.storageChanged();
    },
    onLost: (reason) => onProblem(null, reason),
  });
  return PostgresqlStore.open({ brokerId, maxBytes, database });
}

serveInstances<EngineSetup, EngineCalls, EngineEvent>({
  // Two engines of one broker would share a session and a store.
  keyOf: ({ brokerId }) => brokerId,
  create: async (setup, { emit, problem }) => {
    const { brokerId, session: options } = setup;
    const store = await openStore(setup, (streamId, reason) =>
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
