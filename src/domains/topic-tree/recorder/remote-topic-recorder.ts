import { ServiceError } from '../../../platform/errors.ts';
import type { TopicRecorder, TopicRequests, TopicResponses } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { idleMs } from './idle-time.ts';
import { RecordingRun, type RecordingRunOptions, type RunDurations } from './recording-run.ts';

export interface RemoteTopicRecorderOptions extends RecordingRunOptions {
  /** Called after the recording stopped for lack of requests. Its topics are discarded. */
  readonly onStopped: () => void;
  readonly durations?: RecorderDurations | undefined;
}

/** Durations in milliseconds, for tests. */
interface RecorderDurations extends RunDurations {
  /** Time without requests until the recording stops. Default: see idle-time.ts. */
  readonly idleMs?: number;
}

/**
 * Records the topics of a broker over MQTT, over a connection that is open while results are requested. It subscribes
 * with QoS 0: with a higher QoS, the broker would queue messages for a slow reader and drop those of other clients.
 */
export class RemoteTopicRecorder implements TopicRecorder {
  readonly #options: RemoteTopicRecorderOptions;
  #settings = DEFAULT_TOPIC_SETTINGS;
  #run: RecordingRun | null = null;
  #idle: NodeJS.Timeout | null = null;
  #requestedAt = 0;
  #isClosed = false;
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(options: RemoteTopicRecorderOptions) {
    this.#options = options;
  }

  async apply(settings: TopicSettings): Promise<void> {
    this.#settings = settings;
    if (this.#isClosed) return;
    const applied = this.#run?.apply(settings);
    if (settings.isAlwaysOn) this.#start();
    this.#awaitIdle();
    await applied;
  }

  /** `assertWanted` is called between the slices of a long search and may throw to cancel it. */
  async query<Type extends keyof TopicRequests>(
    type: Type,
    request: TopicRequests[Type],
    assertWanted?: () => void,
  ): Promise<TopicResponses[Type]> {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recording of topics has ended');
    this.#requestedAt = performance.now();
    const run = this.#start();
    return run.query(type, request, assertWanted);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#stopping;
  }

  #start(): RecordingRun {
    if (this.#run) return this.#run;
    this.#requestedAt = performance.now();
    this.#run = new RecordingRun(this.#options, this.#settings);
    this.#awaitIdle();
    return this.#run;
  }

  #stop(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    const run = this.#run;
    this.#run = null;
    if (run) this.#stopping = Promise.all([this.#stopping, run.close()]);
  }

  /** Starts the idle timer. When it fires, it is checked whether requests arrived meanwhile. */
  #awaitIdle(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#run === null || this.#settings.isAlwaysOn) return;
    const left = this.#requestedAt + (this.#options.durations?.idleMs ?? idleMs(this.#settings)) - performance.now();
    this.#idle = setTimeout(() => this.#mayBeIdle(), Math.max(0, Math.ceil(left)));
    this.#idle.unref();
  }

  #mayBeIdle(): void {
    const idle = this.#options.durations?.idleMs ?? idleMs(this.#settings);
    if (performance.now() - this.#requestedAt < idle) {
      this.#awaitIdle();
      return;
    }
    this.#stop();
    this.#options.onStopped();
  }
}
