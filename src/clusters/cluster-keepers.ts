import type { BrokerDirectory, BrokerRecord } from '../brokers/broker-directory.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ControlApi } from '../control/envelope.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { ClusterMode } from '../generated/sqlite/client.ts';
import type { Stop } from '../mqtt/broker-session.ts';
import { type ClusterKeeper, type ClusterRecord, isShared, type NewNode } from './model/cluster.ts';
import type { ClusterDriver } from './model/cluster-driver.ts';

/** Each way in which clusters are held together; SHARED: by this service, which runs their nodes. */
export type ClusterWay = 'HA' | 'DYNSEC' | 'SHARED';

export interface ClusterKeepersOptions {
  readonly drivers: Readonly<Record<ClusterWay, ClusterDriver>>;
  /** Why nodes cannot have sessions and messages in common here, and what would help; null: they can. */
  readonly sharingLacks: string | null;
  readonly brokers: BrokerDirectory;
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

  of(cluster: Pick<ClusterRecord, 'keeper' | 'mode'>): ClusterDriver {
    const { drivers } = this.#options;
    if (cluster.keeper === 'BROKER') return drivers.HA;
    return isShared(cluster) ? drivers.SHARED : drivers.DYNSEC;
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
    if (mode !== 'DYNSEC') this.#needSharing(mode, brokers);
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

  #needSharing(mode: ClusterMode, brokers: readonly BrokerRecord[]): void {
    const { sharingLacks } = this.#options;
    const others = brokers.filter((broker) => !isOwn(broker));
    if (others.length > 0) {
      throw unsupported(
        `${names(others)} cannot have sessions and messages in common with other brokers (mode ${mode}): those can that hold a cluster together themselves (${CLUSTER_API}), and those that this service runs on its own engine (createCloudBroker with engine EMBEDDED). Access control alone (mode DYNSEC) is kept equal for any with dynamic security`,
      );
    }
    if (sharingLacks !== null) throw unsupported(sharingLacks);
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

/** It runs in this service, on an engine that can be a node. */
const isOwn = ({ type, engine }: BrokerRecord): boolean => type === 'CLOUD' && engine === 'embedded';

const names = (brokers: readonly BrokerRecord[]) => brokers.map(({ name }) => `"${name}"`).join(', ');

const unsupported = (reason: string) => new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
