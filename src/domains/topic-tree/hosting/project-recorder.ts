import type { TopicQuestions, TopicRecorder } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';

/** A recorder that keeps no payloads while its broker's project wants none. */
export class ProjectRecorder implements TopicRecorder {
  readonly #recorder: TopicRecorder;
  readonly #arePayloadsKept: () => boolean;
  /** As they were given; null: none yet. */
  #settings: TopicSettings | null = null;

  constructor(recorder: TopicRecorder, arePayloadsKept: () => boolean) {
    this.#recorder = recorder;
    this.#arePayloadsKept = arePayloadsKept;
  }

  apply(settings: TopicSettings): Promise<void> {
    this.#settings = settings;
    return this.#recorder.apply(this.#arePayloadsKept() ? settings : { ...settings, payloadLimit: 0 });
  }

  ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']> {
    return this.#recorder.ask(type, question);
  }

  /** What the project wants may have changed. */
  async projectChanged(): Promise<void> {
    if (this.#settings !== null) await this.apply(this.#settings);
  }

  close(): Promise<void> {
    return this.#recorder.close();
  }
}
