/** The worker thread of all topic recorders of the gateway, so that a busy broker does not delay other requests. */
import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { IterationBatch, pauseShortIterations } from '../../../platform/scheduling/iteration-batch.ts';
import { reasonOf, serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import { newReadingLimits } from '../../../protocol/mqtt/reading-limits.ts';
import type { TopicRequests } from '../model/topic-recorder.ts';
import { RemoteTopicRecorder } from '../recorder/remote-topic-recorder.ts';
import type { RecorderCalls, RecorderEvent, RecorderSetup } from './topic-thread.ts';

/** Long lists that one recorder builds at the same time: each may have megabytes, and the thread has one heap. */
const LISTS_AT_ONCE = 2;
const LISTS: ReadonlySet<keyof TopicRequests> = new Set(['find', 'levels', 'changes']);

const iterationBatch = new IterationBatch(pauseShortIterations());
const readingLimits = newReadingLimits();

serveInstances<RecorderSetup, RecorderCalls, RecorderEvent>({
  create: (setup, { emit, problem }) => {
    const { id: brokerId, timeoutMs } = setup.local;
    const recorder = new RemoteTopicRecorder({
      ...setup,
      local: { ...setup.local, readingLimits },
      iterationBatch,
      onStopped: () => emit('STOPPED'),
      onFault: (error) => problem('error', { brokerId, reason: reasonOf(error) }, 'a topic recorder failed'),
    });
    const lists = new ConcurrencyLimit({ maxRunning: LISTS_AT_ONCE });
    /** Errors: those of TopicRecorder; BROKER_TIMEOUT for a list that takes longer than the caller waits. */
    const query: RecorderCalls['query'] = async (type, request) => {
      if (!LISTS.has(type)) return recorder.query(type, request);
      const deadline = performance.now() + timeoutMs;
      const assertInTime = () => {
        if (performance.now() < deadline) return;
        throw new ServiceError('BROKER_TIMEOUT', 'The search in the topics took too long');
      };
      return lists.run(async () => {
        assertInTime();
        return recorder.query(type, request, assertInTime);
      });
    };
    return { api: { apply: (settings) => recorder.apply(settings), query }, close: () => recorder.close() };
  },
});
