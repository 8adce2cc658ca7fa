import { ServiceError } from '../../../platform/errors.ts';
import type { TopicQuestions, TopicRecorder } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, type TopicSettings } from '../model/topic-settings.ts';
import { idleMs } from './idle-time.ts';
import { RecordingRun, type RecordingRunOptions, type RunDurations } from './recording-run.ts';

export interface RemoteTopicRecorderOptions extends RecordingRunOptions {
  /** Nobody asked for long: nothing is kept any more. The next question begins anew. */
  readonly onStopped: () => void;
  readonly durations?: RecorderDurations | undefined;
}

/** Milliseconds, for tests. */
export interface RecorderDurations extends RunDurations {
  /** Default: see idle-time.ts. */
  readonly idleMs?: number;
}

/**
 * Records the topics of a broker that is reached over MQTT, by a connection of its own while somebody asks: with QoS 0, since a broker
 * would queue and then drop messages of others for who reads them slowly with more. Retained messages are heard once per start.
 *
 * Bounds: limits and memory of the recording; subscriptions whose holders are known, see SubscriptionLog.
 */
export class RemoteTopicRecorder implements TopicRecorder {
  readonly #options: RemoteTopicRecorderOptions;
  #settings = DEFAULT_TOPIC_SETTINGS;
  #run: RecordingRun | null = null;
  #idle: NodeJS.Timeout | null = null;
  #askedAt = 0;
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

  /** `assertWanted` is asked now and then by what takes long: what it throws ends it. */
  async ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
    assertWanted?: () => void,
  ): Promise<TopicQuestions[Type]['answer']> {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recording of topics has ended');
    this.#askedAt = performance.now();
    const run = this.#start();
    return run.ask(type, question, assertWanted);
  }

  /** Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#stopping;
  }

  #start(): RecordingRun {
    if (this.#run) return this.#run;
    this.#askedAt = performance.now();
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

  /** Until it may be over: it is looked at then whether somebody has asked meanwhile. */
  #awaitIdle(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#run === null || this.#settings.isAlwaysOn) return;
    const left = this.#askedAt + (this.#options.durations?.idleMs ?? idleMs(this.#settings)) - performance.now();
    this.#idle = setTimeout(() => this.#mayBeIdle(), Math.max(0, Math.ceil(left)));
    this.#idle.unref();
  }

  #mayBeIdle(): void {
    const idle = this.#options.durations?.idleMs ?? idleMs(this.#settings);
    if (performance.now() - this.#askedAt < idle) {
      this.#awaitIdle();
      return;
    }
    this.#stop();
    this.#options.onStopped();
  }
}
