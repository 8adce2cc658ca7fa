import { ServiceError } from '../../../platform/errors.ts';
import { WorkerHost, type WorkerHostOptions } from '../../../protocol/hosting/worker-host.ts';
import type { WorkerInstance } from '../../../protocol/hosting/worker-instance.ts';
import type { QueryTopics, TopicRecorder } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import type { RemoteTopicRecorderOptions } from '../recorder/remote-topic-recorder.ts';

export type RecorderSetup = Omit<RemoteTopicRecorderOptions, 'iterationBatch' | 'onStopped' | 'onFault'>;
export type RecorderCalls = Omit<TopicRecorder, 'close'>;
export type RecorderEvent = 'STOPPED';

export interface TopicThreadOptions extends Omit<WorkerHostOptions, 'name' | 'workerUrl'> {
  readonly workerUrl?: URL | undefined;
}

/** The thread exits soon after its last recorder, because its memory stays allocated until then. */
const LINGER_MS = 5_000;
/** One document of the graph may request about 4,000 levels. */
const MAX_PENDING = 5_000;

/**
 * The worker thread of all topic recorders of the gateway. Its heap limit does not count topic trees; `maxBytes` does.
 */
export class TopicThread extends WorkerHost<RecorderSetup, RecorderCalls, RecorderEvent> {
  constructor({ workerUrl, lingerMs = LINGER_MS, ...options }: TopicThreadOptions) {
    const defaultUrl = new URL('./topic-worker.js', import.meta.url);
    super({ ...options, lingerMs, name: 'topics', workerUrl: workerUrl ?? defaultUrl });
  }

  openRecorder(setup: RecorderSetup): TopicRecorder {
    return new ThreadRecorder(this, setup);
  }
}

/**
 * The recorder of one broker. It runs from the first request, or from settings with `isAlwaysOn`, until it reports that
 * it stopped. An exit of the thread deletes the recording. Additional errors of `query`: BROKER_UNREACHABLE while the
 * thread is down; BROKER_TIMEOUT beyond MAX_PENDING requests.
 */
class ThreadRecorder implements TopicRecorder {
  readonly #instance: WorkerInstance<RecorderSetup, RecorderCalls, RecorderEvent>;
  #settings: TopicSettings = DEFAULT_TOPIC_SETTINGS;
  #pending = 0;

  constructor(thread: TopicThread, setup: RecorderSetup) {
    this.#instance = thread.open({
      name: 'topic recorder',
      setup,
      restore: () => this.#restore(),
      // A request that was sent meanwhile has started the recording again.
      onEvent: () => {
        if (this.#pending === 0 && !this.#settings.isAlwaysOn) this.#instance.stop(false);
      },
    });
  }

  async apply(settings: TopicSettings): Promise<void> {
    this.#instance.assertOpen();
    this.#settings = settings;
    if (this.#instance.isRunning) await this.#instance.call('apply', settings);
    else if (settings.isAlwaysOn) await this.#instance.start();
  }

  readonly query: QueryTopics = async (type, request) => {
    this.#instance.assertOpen();
    this.#instance.start().catch(() => undefined);
    if (this.#pending >= MAX_PENDING) {
      throw new ServiceError('BROKER_TIMEOUT', 'Too many requests for the topics of the broker wait for a response');
    }
    this.#pending += 1;
    try {
      return (await this.#instance.call('query', type, request)) as never;
    } finally {
      this.#pending -= 1;
    }
  };

  close(): Promise<void> {
    return this.#instance.close(false);
  }

  async #restore(): Promise<void> {
    const applied = this.#instance.call('apply', this.#settings);
    // Any request starts the recording.
    this.#instance.call('query', 'status', {}).catch(() => undefined);
    await applied;
  }
}
