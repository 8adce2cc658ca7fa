import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { ProjectCache } from '../../projects/project-cache.ts';
import type { QueryTopics, TopicRecorder } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';

/** Whether the payloads of a broker's topics are stored: a setting of its project. */
export interface TopicPayloads {
  areStored(): boolean;
  onChange(listener: () => void): Stop;
}

/** `undefined` for the project of a broker that is being removed. */
export function topicPayloadsOf(
  brokerId: string,
  brokers: Pick<BrokerCache, 'get'>,
  projects: Pick<ProjectCache, 'get' | 'onChange'>,
): TopicPayloads {
  const projectId = () => brokers.get(brokerId)?.projectId;
  return {
    areStored: () => projects.get(projectId() ?? '')?.topicPayloads === true,
    onChange: (listener) =>
      projects.onChange((after, before) => {
        if (after !== null && after.topicPayloads !== before?.topicPayloads && after.id === projectId()) listener();
      }),
  };
}

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
