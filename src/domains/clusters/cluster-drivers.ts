import type { ClusterMode } from '../../generated/sqlite/client.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClusterDriver, ClusterKeeper, ClusterRecord, NewNode } from './model/cluster.ts';

interface ClusterDriversOptions {
  readonly drivers: Readonly<Record<ClusterKeeper, ClusterDriver>>;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
}

/** Control API of brokers that synchronize clusters themselves. */
const CLUSTER_API: ControlApi = 'cedalo/ha';
/** Control API through which this service synchronizes the other clusters. */
const ACCESS_API: ControlApi = 'dynamic-security';

/** Selects the driver of each cluster, by the control APIs of its brokers. */
export class ClusterDrivers {
  readonly #options: ClusterDriversOptions;

  constructor(options: ClusterDriversOptions) {
    this.#options = options;
  }

  of({ keeper }: Pick<ClusterRecord, 'keeper'>): ClusterDriver {
    return this.#options.drivers[keeper];
  }

  onChange(listener: (clusterId: string) => void): Stop {
    const stops = Object.values(this.#options.drivers).map((driver) => driver.onChange(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER, with what each node lacks, and those of brokers that are not reachable. */
  async selectKeeper(mode: ClusterMode, nodes: readonly Pick<NewNode, 'brokerId'>[]): Promise<ClusterKeeper> {
    const brokers = nodes.map(({ brokerId }) => this.#broker(brokerId));
    const found = await Promise.all(brokers.map((broker) => this.#capability(broker, CLUSTER_API)));
    const without = brokers.filter((_broker, index) => found[index]?.provider !== 'BROKER');
    if (without.length === 0) return 'BROKER';
    if (without.length < brokers.length) {
      throw unsupported(`${names(without)} cannot be in a cluster with brokers that synchronize themselves`);
    }
    if (mode !== 'DYNSEC') throw unsupported(withoutClusterApi(mode, brokers));
    await Promise.all(brokers.map((broker) => this.#requireDynsec(broker)));
    return 'GATEWAY';
  }

  /** Checks that a broker can join the cluster. Errors: as `selectKeeper`. */
  async checkNode({ keeper, mode }: ClusterRecord, node: Pick<NewNode, 'brokerId'>): Promise<void> {
    const found = await this.selectKeeper(mode, [node]);
    if (found === keeper) return;
    const name = names([this.#broker(node.brokerId)]);
    throw unsupported(
      keeper === 'BROKER'
        ? `${name} has no ${CLUSTER_API}, which the other nodes have`
        : `${name} synchronizes clusters itself, which the other nodes do not`,
    );
  }

  async #requireDynsec(broker: BrokerRecord): Promise<void> {
    const { provider, reason } = await this.#capability(broker, ACCESS_API);
    if (provider === 'NONE')
      throw unsupported(`${names([broker])}: ${reason ?? `the broker does not support ${ACCESS_API}`}`);
  }

  #capability(broker: BrokerRecord, api: ControlApi) {
    return this.#options.runtimes.ask(broker, ({ controls }) => controls.capability(api));
  }

  #broker(id: string): BrokerRecord {
    const broker = this.#options.brokers.get(id);
    if (broker === null) throw notFound('broker', id);
    return broker;
  }
}

const names = (brokers: readonly BrokerRecord[]) => brokers.map(({ name }) => `"${name}"`).join(', ');

const unsupported = (reason: string) => new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });

const withoutClusterApi = (mode: ClusterMode, brokers: readonly BrokerRecord[]) =>
  `${names(brokers)} cannot share sessions and messages with other brokers (mode ${mode}): this mode requires brokers with the control API ${CLUSTER_API}. Mode DYNSEC synchronizes access control and works with all brokers that have dynamic security`;
