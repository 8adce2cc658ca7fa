/** The worker thread of all streams that run in the gateway, so that a busy stream does not delay other requests. */
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import { newIntake } from '../../../protocol/mqtt/intake.ts';
import { StreamEngineCore } from '../engine/stream-engine-core.ts';
import { compileQuery } from '../query/compile-query.ts';
import { SegmentStore } from '../store/segment-store.ts';
import { MqttStreamSession } from './mqtt-stream-session.ts';
import type { EngineCalls, EngineEvent, EngineSetup } from './stream-thread.ts';

const iterationBatch = new IterationBatch(pauseShortIterations());
const intake = newIntake();

serveInstances<EngineSetup, EngineCalls, EngineEvent>({
  // Two engines of one broker would share a session and a folder.
  keyOf: ({ brokerId }) => brokerId,
  create: ({ brokerId, folder, maxBytes, session: options }, { emit, problem }) => {
    const store = new SegmentStore({
      folder,
      maxBytes,
      onProblem: (streamId, reason) =>
        problem('warn', { brokerId, streamId, reason }, 'stored messages of streams have a problem'),
    });
    const session = new MqttStreamSession({
      ...options,
      intake,
      iterationBatch,
      onFault: (error) =>
        problem('error', { brokerId, reason: reasonOf(error) }, 'a stream failed while it processed a message'),
    });
    const engine = new StreamEngineCore({ session, store, compile: compileQuery });
    engine.onChange((id, report) => emit({ id, report }));
    session.open();
    const close = async (discard: boolean) => {
      await engine.close();
      await session.close({ discard });
      await store.close();
    };
    return { api: engine, close };
  },
});
