import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import { TopicTreePlugin } from '../../topic-tree/control/topic-tree-plugin.ts';
import type { TopicRecorder, TopicRequests, TopicResponses } from '../../topic-tree/model/topic-recorder.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  idleMs,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../topic-tree/model/topic-settings.ts';
import { PayloadRecorder } from '../../topic-tree/recorder/payload-recorder.ts';
import type { RecordingRequest } from '../../topic-tree/recorder/topic-recording.ts';
import type { ControlServer } from '../control/control-server.ts';
import type { Journal } from '../store/journal.ts';
import { EmbeddedRecording, type EmbeddedRecordingOptions } from './embedded-recording.ts';

interface EmbeddedTopicRecorderOptions extends Omit<EmbeddedRecordingOptions, 'onFault'> {
  readonly onProblem: (problem: string, error: unknown) => void;
}

/** Maximum time that the first query waits until the existing topics are recorded. */
const COMPLETE_MS = 2_000;

/** Records until there were no queries for a while. Errors of `query`: those of TopicRecording, BROKER_UNREACHABLE. */
export class EmbeddedTopicRecorder implements TopicRecorder {
  readonly #options: EmbeddedTopicRecorderOptions;
  #settings: TopicSettings = DEFAULT_TOPIC_SETTINGS;
  #recording: EmbeddedRecording | null = null;
  #idle: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: EmbeddedTopicRecorderOptions) {
    this.#options = options;
  }

  async apply(settings: TopicSettings): Promise<void> {
    this.#assertOpen();
    this.#settings = settings;
    const running = this.#recording;
    const recording = settings.isAlwaysOn ? this.#start() : running;
    if (recording === null) return;
    this.#restartIdleTimer();
    // A new recording already has the settings.
    if (recording === running) await recording.apply(settings);
  }

  async query<Type extends keyof TopicRequests>(
    type: Type,
    request: TopicRequests[Type],
  ): Promise<TopicResponses[Type]> {
    this.#assertOpen();
    const recording = this.#start();
    this.#restartIdleTimer();
    if (recording.status.state === 'STARTING') {
      await Promise.race([recording.completed, delay(COMPLETE_MS, undefined, { ref: false })]);
    }
    this.#assertOpen();
    if (type === 'status') return recording.status as TopicResponses[Type];
    return (await recording.query(type as RecordingRequest, request as never)) as TopicResponses[Type];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
  }

  #start(): EmbeddedRecording {
    const onFault = (error: unknown) => {
      this.#options.onProblem('topics could not be recorded', error);
      // The next query starts a new recording.
      this.#stop();
    };
    this.#recording ??= new EmbeddedRecording({ ...this.#options, onFault }, this.#settings);
    return this.#recording;
  }

  #restartIdleTimer(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = this.#settings.isAlwaysOn ? null : setTimeout(() => this.#stop(), idleMs(this.#settings)).unref();
  }

  #stop(): void {
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = null;
    this.#recording?.close();
    this.#recording = null;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The broker is stopped');
  }
}

interface EmbeddedTopicsOptions extends EmbeddedTopicRecorderOptions {
  readonly control: ControlServer;
  /** Whether payloads are stored. Call `payloadsChanged` after a change. */
  readonly arePayloadsStored: () => boolean;
}

/** Registers `cedalo/topictree`. If recording is always on, it has started when this function resolves. */
export async function startTopics(options: EmbeddedTopicsOptions) {
  const { store, control, arePayloadsStored, onProblem } = options;
  const recorder = new PayloadRecorder(new EmbeddedTopicRecorder(options), arePayloadsStored);
  const onFault = (error: unknown) => onProblem('topics could not be recorded', error);
  const plugin = new TopicTreePlugin({ settings: settingsIn(store.journal), recorder, onFault });
  control.register(plugin);
  await plugin.started;
  return {
    payloadsChanged: () => void recorder.payloadsChanged().catch(onFault),
    close: () => recorder.close(),
  };
}

/** The topic settings in the journal. There are no other writers, so `onChange` never fires. */
function settingsIn(journal: Journal): TopicSettingsStore {
  const name = 'topic-tree';
  // Possibly written by an earlier version without some fields.
  let current = { ...DEFAULT_TOPIC_SETTINGS, ...journal.setting<Partial<TopicSettings>>(name) };
  return {
    get: () => current,
    put: async (settings) => {
      journal.requireDisk();
      current = settings;
      journal.putSetting(name, settings);
      await journal.commit();
    },
    onChange: () => () => {},
  };
}
