import { ServiceError } from '../../../platform/errors.ts';
import type { QueryTopics, TopicRecorder } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, idleMs, type TopicSettings } from '../model/topic-settings.ts';
import { RecordingRun, type RecordingRunOptions, type RunDurations } from './recording-run.ts';

export interface RemoteTopicRecorderOptions extends RecordingRunOptions {
  /** Called after the recording stopped for lack of requests. Its topics are discarded. */
  readonly onStopped: () => void;
  readonly durations?: RecorderDurations | undefined;
}

/** Durations in milliseconds, for tests. */
interface RecorderDurations extends RunDurations {
  /** Time without requests until the recording stops. Default: `idleMs` of the settings. */
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
    this.#restartIdleTimer();
    await applied;
  }

  readonly query: QueryTopics = async (type, request, assertWanted) => {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recording of topics has ended');
    this.#requestedAt = performance.now();
    return this.#start().query(type, request, assertWanted);
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#stopping;
  }

  #start(): RecordingRun {
    if (this.#run) return this.#run;
    this.#requestedAt = performance.now();
    this.#run = new RecordingRun(this.#options, this.#settings);
    this.#restartIdleTimer();
    return this.#run;
  }

  #stop(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    const run = this.#run;
    this.#run = null;
    if (run) this.#stopping = Promise.all([this.#stopping, run.close()]);
  }

  #restartIdleTimer(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#run === null || this.#settings.isAlwaysOn) return;
    const idle = this.#options.durations?.idleMs ?? idleMs(this.#settings);
    const leftMs = () => this.#requestedAt + idle - performance.now();
    const onTimer = () => {
      // Requests may have arrived meanwhile.
      if (leftMs() > 0) return this.#restartIdleTimer();
      this.#stop();
      this.#options.onStopped();
    };
    this.#idle = setTimeout(onTimer, Math.max(0, Math.ceil(leftMs()))).unref();
  }
}
