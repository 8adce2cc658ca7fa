import type { RecorderStatus, TopicQuestions } from '../../../domains/topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../../domains/topic-tree/model/topic-settings.ts';
import { RecordedTopics } from '../../../domains/topic-tree/recorder/recorded-topics.ts';
import { type RecordingQuestion, TopicRecording } from '../../../domains/topic-tree/recorder/topic-recording.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { Published, PublishTap } from '../core/publish-tap.ts';
import type { RetainedStore } from '../store/retained-store.ts';
import { SubscribedFilters, type SubscribedFiltersOptions } from './subscribed-filters.ts';

export interface EmbeddedRecordingOptions
  extends Pick<SubscribedFiltersOptions, 'registry' | 'sessions' | 'ownClientIds'> {
  readonly core: SubscribedFiltersOptions['core'] & { readonly tap: Pick<PublishTap, 'watcher'> };
  readonly retained: Pick<RetainedStore, 'all'>;
  /** Of all that is recorded. */
  readonly maxBytes: number;
  /** What is recorded is not true any more: a bug. */
  readonly onFault: (error: unknown) => void;
}

/** Milliseconds that messages of the broker wait at most for a part of what takes long. */
const SLICE_MS = 2;
/** Between two looks for room for filters that somebody has and that were left out (ms). */
const OFFER_MS = 5_000;

/**
 * What is recorded of an embedded broker from when this is made until it is closed: its publishes, as they are taken in, and the
 * subscriptions of all its clients and sessions. Retained messages, and subscriptions that are there already, are recorded as if they
 * came now. A filter stays as long as somebody has it.
 */
export class EmbeddedRecording {
  readonly #options: EmbeddedRecordingOptions;
  readonly #recording: TopicRecording;
  readonly #held: SubscribedFilters;
  readonly #offers: NodeJS.Timeout;
  #isComplete = false;
  #isClosed = false;
  /** Resolves when what was there before is recorded. Never rejects. */
  readonly completed: Promise<void>;

  constructor(options: EmbeddedRecordingOptions, settings: TopicSettings) {
    this.#options = options;
    const { core, registry, sessions, ownClientIds, maxBytes } = options;
    const recording = new TopicRecording({ settings, maxBytes, isHeld: (filter) => this.#held.has(filter) });
    this.#recording = recording;
    this.#held = new SubscribedFilters({
      core,
      registry,
      sessions,
      ownClientIds,
      onUse: (filter, qos) => this.#safely(() => recording.subscribed(filter, qos)),
      onRelease: (filter) => this.#safely(() => recording.released(filter)),
    });
    core.tap.watcher = (published) => this.#safely(() => this.#take(published));
    this.completed = this.#runInSlices(this.#recordExisting()).then(() => {
      this.#isComplete = true;
    });
    this.#offers = setInterval(() => {
      if (recording.status.subscribed.isTruncated) void this.#runInSlices(this.#offer());
    }, OFFER_MS).unref();
  }

  /** Holds from now on. Resolves when what they leave out is gone, and what they had left out is there. */
  async apply(settings: TopicSettings): Promise<void> {
    const before = new RecordedTopics(this.#recording.settings);
    await this.#recording.apply(settings);
    await this.#runInSlices(this.#offer());
    await this.#runInSlices(this.#recordRetained((topic) => !before.has(topic)));
  }

  ask<Type extends RecordingQuestion>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']> {
    return this.#recording.ask(type, question);
  }

  get status(): RecorderStatus {
    return {
      ...this.#recording.status,
      state: this.#isComplete ? 'RECORDING' : 'STARTING',
      reason: null,
      deniedFilters: [],
      subscribedReason: null,
      tellsRetain: true,
    };
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#offers);
    this.#options.core.tap.watcher = null;
    this.#held.close();
    this.#recording.close();
  }

  #take({ topic, payload, qos, retain }: Published): void {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    // An empty one clears what was kept.
    this.#recording.record(topic, bytes, qos, retain && bytes.length > 0);
  }

  *#recordExisting(): SlicedTask<void> {
    yield* this.#recordRetained(() => true);
    yield* this.#held.look();
  }

  /** Those that nobody has published meanwhile. */
  *#recordRetained(isWanted: (topic: string) => boolean): SlicedTask<void> {
    for (const packet of this.#options.retained.all()) {
      if (this.#isClosed) return;
      if (isWanted(packet.topic) && !this.#recording.has(packet.topic)) this.#take(packet);
      yield;
    }
  }

  /** Filters that are held and were left out by a limit, or by filters before, as long as there is room. */
  *#offer(): SlicedTask<void> {
    const recorded = new RecordedTopics(this.#recording.settings);
    for (const [filter, qos] of this.#held.all()) {
      if (this.#isClosed) return;
      const isMissing = recorded.hasSubscription(filter) && !this.#recording.hasSubscription(filter);
      if (isMissing && !this.#recording.subscribed(filter, qos)) return;
      yield;
    }
  }

  async #runInSlices(steps: SlicedTask<void>): Promise<void> {
    await runInSlices(steps, SLICE_MS).catch(this.#options.onFault);
  }

  /** Whatever fails here must not reach the message or the subscription that is under way. */
  #safely(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#options.onFault(error);
    }
  }
}
