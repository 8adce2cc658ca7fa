import type { ClusterMode } from '../../generated/sqlite/client.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClusterKeeper, ClusterRecord, NewNode } from './model/cluster.ts';
import type { ClusterDriver } from './model/cluster-driver.ts';

export interface ClusterKeepersOptions {
  readonly drivers: Readonly<Record<ClusterKeeper, ClusterDriver>>;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
}

/** Serves clusters among brokers themselves. */
const CLUSTER_API: ControlApi = 'cedalo/ha';
/** What is kept equal where they do not. */
const ACCESS_API: ControlApi = 'dynamic-security';

/** Who holds clusters together, by what their brokers can. */
export class ClusterKeepers {
  readonly #options: ClusterKeepersOptions;

  constructor(options: ClusterKeepersOptions) {
    this.#options = options;
  }

  of({ keeper }: Pick<ClusterRecord, 'keeper'>): ClusterDriver {
    return this.#options.drivers[keeper];
  }

  /** Tells that status or stand-in of a cluster may be another one. */
  onChange(listener: (clusterId: string) => void): Stop {
    const stops = Object.values(this.#options.drivers).map((driver) => driver.onChange(listener));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER, with what each node lacks; those of brokers that cannot be asked. */
  async keeperFor(mode: ClusterMode, nodes: readonly Pick<NewNode, 'brokerId'>[]): Promise<ClusterKeeper> {
    const brokers = nodes.map(({ brokerId }) => this.#broker(brokerId));
    const serving = await Promise.all(brokers.map((broker) => this.#serves(broker, CLUSTER_API)));
    if (serving.every((serves) => serves)) return 'BROKER';
    if (serving.some((serves) => serves)) {
      const without = brokers.filter((_broker, index) => !serving[index]);
      throw unsupported(`${names(without)} cannot be in a cluster with brokers that hold it together themselves`);
    }
    if (mode !== 'DYNSEC') throw unsupported(withoutClusterApi(mode, brokers));
    await Promise.all(brokers.map((broker) => this.#needAccess(broker)));
    return 'GATEWAY';
  }

  /** Errors: as `keeperFor`. */
  async checkNode({ keeper, mode }: ClusterRecord, node: Pick<NewNode, 'brokerId'>): Promise<void> {
    const found = await this.keeperFor(mode, [node]);
    if (found === keeper) return;
    throw unsupported(
      keeper === 'BROKER'
        ? `${names([this.#broker(node.brokerId)])} has no ${CLUSTER_API}, as the other nodes have`
        : `${names([this.#broker(node.brokerId)])} holds clusters together itself, which the other nodes do not`,
    );
  }

  async #needAccess(broker: BrokerRecord): Promise<void> {
    const { runtimes } = this.#options;
    const { provider, reason } = await runtimes.ask(broker, ({ controls }) => controls.capability(ACCESS_API));
    if (provider === 'NONE') throw unsupported(`${names([broker])}: ${reason ?? `nobody serves ${ACCESS_API}`}`);
  }

  async #serves(broker: BrokerRecord, api: ControlApi): Promise<boolean> {
    const capability = await this.#options.runtimes.ask(broker, ({ controls }) => controls.capability(api));
    return capability.provider === 'BROKER';
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
  `${names(brokers)} cannot share sessions and messages with other brokers (mode ${mode}): that needs brokers with the control API ${CLUSTER_API}. Mode DYNSEC, which keeps access control equal, works with any brokers that have dynamic security`;
