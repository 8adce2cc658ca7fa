import type { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { GatewayPlugins } from '../../../protocol/hosting/gateway-plugins.ts';
import type { Hosting } from '../../../protocol/hosting/hosting.ts';
import type { BrokerLinkOptions } from '../../../protocol/mqtt/broker-link.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { licensePlugin } from '../../brokers/license-plugin.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { StreamService } from '../../streams/stream-service.ts';
import type { TopicService } from '../../topic-tree/topic-service.ts';
import type { TopicNodes } from '../../topic-tree/topic-view.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import { mergedClientControlPlugin } from './merged-client-control.ts';
import { mergedInspectPlugin } from './merged-inspect-plugin.ts';
import { mergedStreamsPlugin } from './merged-streams-plugin.ts';
import { mergedTopicsPlugin } from './merged-topics-plugin.ts';
import { notMergedPlugin, notMergedReason } from './not-merged.ts';
import { type AskNode, isSplit, nodesOf, ServingNodes } from './serving-nodes.ts';

export interface ClusterServingOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerCache;
  /** Bridges that this service runs beside brokers. */
  readonly bridges: Pick<Hosting, 'apis'>;
  /** By cluster. */
  readonly streamMutex: LeasedMutex;
  /** Longest wait for a broker's answer, milliseconds. */
  readonly timeoutMs: number;
}

export interface ServedParts {
  readonly runtimes: BrokerRuntimes;
  readonly clients: ClientService;
  readonly topics: TopicService;
  readonly streams: StreamService;
}

/**
 * What is told of, and done with, the clients and messages of clusters whose nodes have their own: by plugins instead of the broker by
 * which such a cluster is reached. What cannot be done on all nodes is not done on one of them. Nodes that have messages in common have
 * clients of their own, too, and hear each message where it came in, or all of them: what follows messages is run by any one of them.
 */
export class ClusterServing {
  readonly #options: ClusterServingOptions;
  readonly #listeners = new Map<string, Set<() => void>>();
  #parts: ServedParts | null = null;
  #stop: Stop = () => undefined;

  constructor(options: ClusterServingOptions) {
    this.#options = options;
  }

  /**
   * What serves control APIs of the entry of such a cluster; null: it is another broker. Where what goes through one node goes through
   * all, bridges run as beside a single broker.
   */
  pluginsFor(link: BrokerLinkOptions): GatewayPlugins | null {
    const { id: brokerId } = link;
    const cluster = this.#options.directory.get(brokerId);
    if (cluster === null || !isSplit(cluster)) return null;
    const nodes = this.#nodesOf(brokerId);
    const { runtimes, clients, topics, streams } = this.#connected;
    const { streamMutex, timeoutMs, bridges } = this.#options;
    const ask: AskNode = ({ broker }, question) => runtimes.ask(broker, ({ controls }) => question(controls));
    return {
      plugins: [
        licensePlugin,
        mergedInspectPlugin({ nodes, clients, ask }),
        mergedClientControlPlugin({ nodes, clients, ask }),
        mergedTopicsPlugin({ nodes, ask: ({ broker }, question) => topics.askAt(broker, question) }),
        mergedStreamsPlugin({
          nodes,
          ask: ({ broker }, question) => streams.askAt(broker, question),
          inTurn: (work) => streamMutex.run(brokerId, work),
          timeoutMs,
        }),
        ...bridges.apis.map((api) => notMergedPlugin(api, 'a bridge', nodes)),
      ],
      clientIds: [],
    };
  }

  /** Why nothing that takes messages runs for a broker; null: it may. */
  refusalOf({ id }: BrokerRecord, what: string): string | null {
    const cluster = this.#options.directory.get(id);
    return cluster !== null && isSplit(cluster) ? notMergedReason(what, this.#nodesOf(id)) : null;
  }

  /** For TopicService. */
  topicNodesOf({ id }: BrokerRecord): TopicNodes | null {
    const cluster = this.#options.directory.get(id);
    if (cluster === null || !isSplit(cluster)) return null;
    return { places: nodesOf(this.#options, id), isMerged: cluster.mode !== 'HP' };
  }

  connect(parts: ServedParts): void {
    this.#parts = parts;
  }

  start(): void {
    const { directory } = this.#options;
    const { runtimes } = this.#connected;
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => this.#nodeChanged(id));
      this.#nodeChanged(id);
    });
    this.#stop = directory.onChange((after, before) => {
      // Of one that another process made, the entry may have come first.
      if (after !== null && before === null && isSplit(after)) runtimes.reopen(after.id);
      if (after !== null) this.#tell(after.id);
    });
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  get #connected(): ServedParts {
    if (this.#parts === null) throw new Error('clusters are served before their parts are there');
    return this.#parts;
  }

  #nodesOf(clusterId: string): ServingNodes {
    const { directory, brokers, timeoutMs } = this.#options;
    const { runtimes } = this.#connected;
    const onNodes = (id: string, listener: () => void) => {
      const listeners = this.#listeners.get(id) ?? new Set();
      this.#listeners.set(id, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(id);
      };
    };
    return new ServingNodes(clusterId, { directory, brokers, runtimes, timeoutMs, onNodes });
  }

  #nodeChanged(brokerId: string): void {
    const cluster = this.#options.directory.ofNode(brokerId);
    if (cluster !== null) this.#tell(cluster.id);
  }

  #tell(clusterId: string): void {
    for (const listener of this.#listeners.get(clusterId) ?? []) listener();
  }
}
