import { Listeners } from '../../../platform/listeners.ts';
import type { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import { licensePlugin } from '../../../protocol/apis/license.ts';
import type { ControlApi } from '../../../protocol/control/envelope.ts';
import type { GatewayPlugins } from '../../../protocol/hosting/gateway-plugins.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerLinkOptions } from '../../../protocol/mqtt/link-options.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { StreamService } from '../../streams/stream-service.ts';
import type { TopicService } from '../../topic-tree/topic-service.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import { type CallNode, ClusterNodes, hasClientsPerNode } from './cluster-nodes.ts';
import { unsupportedPlugin } from './cluster-plugin.ts';
import { mergedClientControlPlugin } from './merged-client-control.ts';
import { mergedInspectPlugin } from './merged-inspect-plugin.ts';
import { mergedStreamsPlugin } from './merged-streams-plugin.ts';
import { mergedTopicsPlugin } from './merged-topics-plugin.ts';

export interface ClusterServingOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly clients: ClientService;
  readonly topics: TopicService;
  readonly streams: StreamService;
  /** The APIs of bridges that the gateway runs for brokers without bridges of their own. */
  readonly bridgeApis: readonly ControlApi[];
  readonly streamMutex: LeasedMutex;
  readonly timeoutMs: number;
}

/**
 * Provides gateway plugins for clusters whose nodes have their own clients and messages. The plugins merge the clients,
 * topics and streams of all nodes. Features that cannot be applied to all nodes are reported as unavailable.
 */
export class ClusterServing {
  readonly #options: ClusterServingOptions;
  readonly #listeners = new Listeners<[clusterId: string]>();
  #stop: Stop = () => undefined;

  constructor(options: ClusterServingOptions) {
    this.#options = options;
    options.runtimes.replacePlugins((link) => this.#pluginsFor(link));
  }

  /** `null` for other entries. In mode FULL all messages pass through the leader, which needs no merging. */
  #pluginsFor(link: BrokerLinkOptions): GatewayPlugins | null {
    const { id: brokerId } = link;
    const cluster = this.#options.cache.get(brokerId);
    if (cluster === null || !hasClientsPerNode(cluster)) return null;
    const { runtimes, clients, topics, streams, streamMutex, timeoutMs, bridgeApis } = this.#options;
    const nodes = new ClusterNodes(brokerId, { ...this.#options, onNodes: this.#listeners.add });
    const call: CallNode = ({ broker }, request) => runtimes.ask(broker, ({ controls }) => request(controls));
    return {
      plugins: [
        licensePlugin,
        mergedInspectPlugin({ nodes, clients, call }),
        mergedClientControlPlugin({ nodes, clients, call }),
        mergedTopicsPlugin({ nodes, call: ({ broker }, request) => topics.callAt(broker, request) }),
        mergedStreamsPlugin({
          nodes,
          call: ({ broker }, request) => streams.askAt(broker, request),
          runExclusive: (work) => streamMutex.run(brokerId, work),
          timeoutMs,
        }),
        ...bridgeApis.map((api) => unsupportedPlugin(api, 'a bridge', () => nodes.all())),
      ],
      clientIds: [],
    };
  }

  start(): void {
    const { cache, runtimes } = this.#options;
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => this.#nodeChanged(id));
      this.#nodeChanged(id);
    });
    this.#stop = cache.onChange((after, before) => {
      // Another process created the cluster: the runtime of its entry may be open already.
      if (after !== null && before === null && hasClientsPerNode(after)) runtimes.reopen(after.id);
      if (after !== null) this.#listeners.notify(after.id);
    });
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  #nodeChanged(brokerId: string): void {
    const cluster = this.#options.cache.ofNode(brokerId);
    if (cluster !== null) this.#listeners.notify(cluster.id);
  }
}
