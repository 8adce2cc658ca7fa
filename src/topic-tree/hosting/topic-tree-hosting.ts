import type { Logger } from 'pino';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes, HostedBeside } from '../../brokers/broker-runtimes.ts';
import type { HostedCalls } from '../../hosting/hosted-calls.ts';
import type { Hosted } from '../../hosting/hosted-plugin.ts';
import { Hosting } from '../../hosting/hosting.ts';
import { localOf } from '../../hosting/local-broker.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { ProjectDirectory } from '../../projects/project-directory.ts';
import type { Storage } from '../../storage/storage.ts';
import { TOPIC_API } from '../control/topic-control.ts';
import { TopicTreePlugin } from '../control/topic-tree-plugin.ts';
import type { TopicRecorder } from '../model/topic-recorder.ts';
import { ProjectRecorder } from './project-recorder.ts';
import type { RecorderPlace } from './topic-protocol.ts';
import { TopicSettingsDirectory } from './topic-settings-directory.ts';

export interface TopicTreeHostingOptions {
  readonly storage: Storage;
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  /** They say whether payloads are kept. */
  readonly projects: ProjectDirectory;
  readonly thread: { open(place: RecorderPlace): TopicRecorder };
  /** Of one broker's trees and payloads in memory. */
  readonly maxBytes: number;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  readonly log: Logger;
}

/** Topic trees beside brokers that do not record topics themselves. */
export class TopicTreeHosting {
  readonly #options: TopicTreeHostingOptions;
  readonly #directory: TopicSettingsDirectory;
  readonly #hosting: Hosting;
  /** By broker: those in this process. */
  readonly #recorders = new Map<string, ProjectRecorder>();
  #stop: () => void = () => undefined;

  constructor(options: TopicTreeHostingOptions) {
    const { storage, brokers, calls, log } = options;
    const { db, changes, leases } = storage;
    this.#options = options;
    this.#directory = new TopicSettingsDirectory({ db, changes, log });
    this.#hosting = new Hosting({
      name: 'topic trees',
      kinds: [
        {
          api: TOPIC_API,
          // What changes is asked for.
          hints: null,
          isWanted: (brokerId) => this.#directory.of(brokerId).get().isAlwaysOn,
          begin: (link) => this.#begin(link),
        },
      ],
      brokers,
      folder: null,
      leases,
      calls,
      forget: (brokerId) => this.#directory.brokerRemoved(brokerId),
      log,
    });
  }

  load(): Promise<void> {
    return this.#directory.load();
  }

  /** What is beside a broker on a link. */
  beside(link: BrokerLinkOptions): HostedBeside {
    return { plugins: this.#hosting.plugins(link), clientIds: [], clientIdPrefixes: [`${clientIdOf(link.id)}-`] };
  }

  /** From here on topics are recorded. */
  start(runtimes: BrokerRuntimes): void {
    this.#directory.onChange((brokerId) => this.#hosting.look(brokerId));
    this.#stop = this.#options.projects.onChange((after, before) => {
      if (after !== null && after.topicPayloads !== before?.topicPayloads) this.#projectChanged(after.id);
    });
    this.#hosting.start(runtimes);
  }

  async close(): Promise<void> {
    this.#stop();
    this.#hosting.close();
    await this.#directory.close();
  }

  #begin(link: BrokerLinkOptions): Hosted {
    const { thread, maxBytes } = this.#options;
    const { id: brokerId } = link;
    const inThread = thread.open({ local: localOf(link), clientId: clientIdOf(brokerId), maxBytes });
    const recorder = new ProjectRecorder(inThread, () => this.#arePayloadsKept(brokerId));
    this.#recorders.set(brokerId, recorder);
    const settings = this.#directory.of(brokerId);
    const plugin = new TopicTreePlugin({ settings, recorder, onFault: (error) => this.#failed(brokerId, error) });
    const end = async () => {
      if (this.#recorders.get(brokerId) === recorder) this.#recorders.delete(brokerId);
      await recorder.close();
    };
    return { plugin, end };
  }

  #projectChanged(projectId: string): void {
    for (const [brokerId, recorder] of this.#recorders) {
      if (this.#options.brokers.get(brokerId)?.projectId !== projectId) continue;
      recorder.projectChanged().catch((error: unknown) => this.#failed(brokerId, error));
    }
  }

  /** Not of a broker that is just being removed. */
  #arePayloadsKept(brokerId: string): boolean {
    const { brokers, projects } = this.#options;
    const projectId = brokers.get(brokerId)?.projectId;
    return projectId !== undefined && projects.get(projectId)?.topicPayloads === true;
  }

  #failed(brokerId: string, error: unknown): void {
    this.#options.log.error({ err: error, brokerId }, 'topics of a broker could not be recorded');
  }
}

/** What the ids of a recorder's connections begin with. */
const clientIdOf = (brokerId: string) => `brokergraph-${brokerId}-topics`;
