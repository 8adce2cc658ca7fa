import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { ProjectDirectory } from '../../projects/project-directory.ts';

/** Whether payloads of a broker's topics are kept. */
export interface TopicPayloads {
  /** Now. */
  areKept(): boolean;
  /** Tells when it has become different, until the returned function is called. */
  watch(listener: () => void): () => void;
}

/** Payloads of topics are kept where the broker's project has it so. */
export class KeptPayloads {
  readonly #brokers: Pick<BrokerCache, 'get'>;
  readonly #projects: Pick<ProjectDirectory, 'get' | 'onChange'>;

  constructor(brokers: Pick<BrokerCache, 'get'>, projects: Pick<ProjectDirectory, 'get' | 'onChange'>) {
    this.#brokers = brokers;
    this.#projects = projects;
  }

  of(brokerId: string): TopicPayloads {
    const projectId = () => this.#brokers.get(brokerId)?.projectId;
    return {
      areKept: () => {
        // None of a broker that is just being removed.
        const id = projectId();
        return id !== undefined && this.#projects.get(id)?.topicPayloads === true;
      },
      watch: (listener) =>
        this.#projects.onChange((after, before) => {
          if (after !== null && after.topicPayloads !== before?.topicPayloads && after.id === projectId()) listener();
        }),
    };
  }
}
