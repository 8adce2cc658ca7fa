import type { Logger } from 'pino';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes, HostedBeside } from '../../brokers/broker-runtimes.ts';
import type { HostedCalls } from '../../hosting/hosted-calls.ts';
import type { Hosted } from '../../hosting/hosted-plugin.ts';
import { Hosting } from '../../hosting/hosting.ts';
import { localOf } from '../../hosting/local-broker.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { Storage } from '../../storage/storage.ts';
import { TOPIC_API } from '../control/topic-control.ts';
import { TopicTreePlugin } from '../control/topic-tree-plugin.ts';
import type { TopicRecorder } from '../model/topic-recorder.ts';
import type { KeptPayloads } from './kept-payloads.ts';
import { ProjectRecorder } from './project-recorder.ts';
import type { RecorderPlace } from './topic-protocol.ts';
import { TopicSettingsDirectory } from './topic-settings-directory.ts';

export interface TopicTreeHostingOptions {
  readonly storage: Storage;
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  readonly payloads: KeptPayloads;
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
    this.#hosting.start(runtimes);
  }

  async close(): Promise<void> {
    this.#hosting.close();
    await this.#directory.close();
  }

  #begin(link: BrokerLinkOptions): Hosted {
    const { thread, maxBytes, payloads } = this.#options;
    const { id: brokerId } = link;
    const inThread = thread.open({ local: localOf(link), clientId: clientIdOf(brokerId), maxBytes });
    const { areKept, watch } = payloads.of(brokerId);
    const recorder = new ProjectRecorder(inThread, areKept);
    const onFault = (error: unknown) => this.#failed(brokerId, error);
    const unwatch = watch(() => void recorder.projectChanged().catch(onFault));
    const settings = this.#directory.of(brokerId);
    const plugin = new TopicTreePlugin({ settings, recorder, onFault });
    const end = async () => {
      unwatch();
      await recorder.close();
    };
    return { plugin, end };
  }

  #failed(brokerId: string, error: unknown): void {
    this.#options.log.error({ err: error, brokerId }, 'topics of a broker could not be recorded');
  }
}

/** What the ids of a recorder's connections begin with. */
const clientIdOf = (brokerId: string) => `brokergraph-${brokerId}-topics`;
