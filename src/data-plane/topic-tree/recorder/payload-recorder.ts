import type { QueryTopics, TopicRecorder } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';

/** A recorder that stores no payloads while `areStored` is false. */
export class PayloadRecorder implements TopicRecorder {
  readonly #recorder: TopicRecorder;
  readonly #areStored: () => boolean;
  #settings: TopicSettings | null = null;

  constructor(recorder: TopicRecorder, areStored: () => boolean) {
    this.#recorder = recorder;
    this.#areStored = areStored;
  }

  apply(settings: TopicSettings): Promise<void> {
    this.#settings = settings;
    return this.#recorder.apply(this.#areStored() ? settings : { ...settings, payloadLimit: 0 });
  }

  readonly query: QueryTopics = (type, request) => this.#recorder.query(type, request);

  /** The result of `areStored` may have changed. */
  async payloadsChanged(): Promise<void> {
    if (this.#settings !== null) await this.apply(this.#settings);
  }

  close(): Promise<void> {
    return this.#recorder.close();
  }
}
