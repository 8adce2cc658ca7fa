import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { RecorderStatus, TopicRequests, TopicResponses } from '../../topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../topic-tree/model/topic-settings.ts';
import { RecordedTopics } from '../../topic-tree/recorder/recorded-topics.ts';
import { type RecordingRequest, TopicRecording } from '../../topic-tree/recorder/topic-recording.ts';
import type { ClientRegistry } from '../clients/client-registry.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { Published } from '../publishing/publish-tap.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { SubscribedFilters } from './subscribed-filters.ts';

export interface EmbeddedRecordingOptions {
  readonly core: BrokerCore;
  readonly registry: ClientRegistry;
  readonly store: BrokerStore;
  readonly ownClientIds: string;
  readonly maxBytes: number;
  readonly onFault: (error: unknown) => void;
}

/** Longest part of a long task, while messages of the broker wait. */
const SLICE_MS = 2;
const RETRY_MS = 5_000;

/** Records the accepted publishes, and the subscriptions of all clients and sessions, existing ones as if new. */
export class EmbeddedRecording {
  readonly #options: EmbeddedRecordingOptions;
  readonly #recording: TopicRecording;
  readonly #filters: SubscribedFilters;
  readonly #retries: NodeJS.Timeout;
  #isComplete = false;
  #isClosed = false;
  /** Resolves when the existing topics and subscriptions are recorded. Never rejects. */
  readonly completed: Promise<void>;

  constructor(options: EmbeddedRecordingOptions, settings: TopicSettings) {
    this.#options = options;
    const { core, maxBytes } = options;
    const recording = new TopicRecording({ settings, maxBytes, isSubscribed: (filter) => this.#filters.has(filter) });
    this.#recording = recording;
    this.#filters = new SubscribedFilters({
      ...options,
      onUse: (filter, qos) => this.#safely(() => recording.subscribed(filter, qos)),
      onRelease: (filter) => this.#safely(() => recording.released(filter)),
    });
    core.tap.watcher = (published) => this.#safely(() => this.#take(published));
    this.completed = this.#runInSlices(this.#recordExisting()).then(() => {
      this.#isComplete = true;
    });
    this.#retries = setInterval(() => {
      if (recording.status.subscribed.isTruncated) void this.#runInSlices(this.#recordMissing());
    }, RETRY_MS).unref();
  }

  /** Resolves when excluded topics are deleted, and existing topics that are now included are recorded. */
  async apply(settings: TopicSettings): Promise<void> {
    const previous = new RecordedTopics(this.#recording.settings);
    await this.#recording.apply(settings);
    await this.#runInSlices(this.#recordMissing());
    await this.#runInSlices(this.#recordRetained((topic) => !previous.has(topic)));
  }

  query<Type extends RecordingRequest>(type: Type, request: TopicRequests[Type]): Promise<TopicResponses[Type]> {
    return this.#recording.query(type, request);
  }

  get status(): RecorderStatus {
    const { isComplete, ...status } = this.#recording.status;
    return {
      ...status,
      asOf: Date.now(),
      isComplete: isComplete && this.#isComplete,
      state: this.#isComplete ? 'RECORDING' : 'STARTING',
      reason: null,
      deniedFilters: [],
      subscribedReason: null,
      tellsRetain: true,
    };
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#retries);
    this.#options.core.tap.watcher = null;
    this.#filters.close();
    this.#recording.close();
  }

  #take({ topic, payload, qos, retain }: Published): void {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    this.#recording.record(topic, bytes, qos, retain && bytes.length > 0);
  }

  *#recordExisting(): SlicedTask<void> {
    yield* this.#recordRetained(() => true);
    yield* this.#filters.scan();
  }

  *#recordRetained(isWanted: (topic: string) => boolean): SlicedTask<void> {
    for (const packet of this.#options.store.retained.all()) {
      if (this.#isClosed) return;
      if (isWanted(packet.topic) && !this.#recording.has(packet.topic)) this.#take(packet);
      yield;
    }
  }

  /** Records filters that a limit or earlier settings left out, as long as there is room. */
  *#recordMissing(): SlicedTask<void> {
    const recorded = new RecordedTopics(this.#recording.settings);
    for (const [filter, qos] of this.#filters.all()) {
      if (this.#isClosed) return;
      const isMissing = recorded.hasSubscription(filter) && !this.#recording.hasSubscription(filter);
      if (isMissing && !this.#recording.subscribed(filter, qos)) return;
      yield;
    }
  }

  async #runInSlices(steps: SlicedTask<void>): Promise<void> {
    await runInSlices(steps, SLICE_MS).catch(this.#options.onFault);
  }

  /** A failed recording must not affect the message or the subscription that is being handled. */
  #safely(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
