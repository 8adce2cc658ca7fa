import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterNodeRecord } from '../model/cluster.ts';

export interface HaNodesOptions {
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
}

export class HaNodes {
  readonly #options: HaNodesOptions;

  constructor(options: HaNodesOptions) {
    this.#options = options;
  }

  isConnected({ brokerId }: Pick<ClusterNodeRecord, 'brokerId'>): boolean {
    return this.#options.runtimes.isConnected(brokerId);
  }

  /** Runs `send` within the deadline of a broker. Errors: those of brokers, with the name of the node. */
  async call<T>({ brokerId, nodeId }: ClusterNodeRecord, send: (controls: ControlCaller) => Promise<T>): Promise<T> {
    const { brokers, runtimes } = this.#options;
    const broker = brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    try {
      return await runtimes.ask(broker, ({ controls }) => send(controls));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.code, `Node ${nodeId} ("${broker.name}"): ${error.message}`, {
        info: { ...error.info, nodeId, brokerId },
        cause: error,
      });
    }
  }
}
