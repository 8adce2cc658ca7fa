import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes, HostedBeside } from '../../brokers/broker-runtimes.ts';
import type { ControlEvent } from '../../control/envelope.ts';
import type { HostedCalls } from '../../hosting/hosted-calls.ts';
import type { Hosted } from '../../hosting/hosted-plugin.ts';
import { Hosting } from '../../hosting/hosting.ts';
import { localOf } from '../../hosting/local-broker.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { Sealer } from '../../storage/sealed.ts';
import type { Storage } from '../../storage/storage.ts';
import { BridgePlugin } from '../control/bridge-plugin.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeKind, BridgeRules } from '../model/bridge-kind.ts';
import { BridgeDirectory } from './bridge-directory.ts';
import { bridgeHints } from './bridge-hints.ts';
import type { BridgePlace } from './bridge-protocol.ts';
import { connectionsOf } from './thread-bridge.ts';

export interface BridgeHostingOptions {
  readonly storage: Storage;
  readonly sealer: Sealer;
  readonly kinds: readonly BridgeKind[];
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  readonly thread: { open(place: BridgePlace): Bridge };
  readonly rules: BridgeRules;
  /** Of queues, in `<brokerId>/<bridgeId>`. */
  readonly folder: string;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  readonly log: Logger;
}

/** Bridges beside brokers that do not serve them. */
export class BridgeHosting {
  readonly #options: BridgeHostingOptions;
  readonly #directory: BridgeDirectory;
  readonly #hosting: Hosting;

  constructor(options: BridgeHostingOptions) {
    const { storage, sealer, kinds, brokers, folder, calls, log } = options;
    const { db, changes, leases } = storage;
    this.#options = options;
    this.#directory = new BridgeDirectory({ db, changes, sealer, log });
    this.#hosting = new Hosting({
      name: 'bridges',
      kinds: kinds.map((kind) => ({
        api: kind.api,
        hints: bridgeHints,
        isWanted: (brokerId) => this.#isConfigured(brokerId, kind),
        begin: (link, emit) => this.#begin(kind, link, emit),
      })),
      brokers,
      folder,
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
    return {
      plugins: this.#hosting.plugins(link),
      clientIds: [],
      clientIdPrefixes: [`brokergraph-${link.id}-bridge-`],
    };
  }

  /** From here on bridges run. */
  start(runtimes: BrokerRuntimes): void {
    this.#directory.onChange((brokerId) => this.#hosting.look(brokerId));
    this.#hosting.start(runtimes);
  }

  async close(): Promise<void> {
    this.#hosting.close();
    await this.#directory.close();
  }

  #isConfigured(brokerId: string, kind: BridgeKind): boolean {
    try {
      return connectionsOf(this.#directory.of(brokerId, kind.id).get()).length > 0;
    } catch (error) {
      this.#options.log.error({ err: error, brokerId, bridge: kind.id }, 'a bridge cannot be run');
      return false;
    }
  }

  async #begin(kind: BridgeKind, link: BrokerLinkOptions, emit: (event: ControlEvent) => void): Promise<Hosted> {
    const { thread, rules, folder, log } = this.#options;
    const brokerId = link.id;
    const onFault = (error: unknown) =>
      log.error({ err: error, brokerId, bridge: kind.id }, 'a bridge of a broker could not be run');
    const place = { brokerId, bridgeId: kind.id, local: localOf(link), folder: join(folder, brokerId, kind.id) };
    const configs = this.#directory.of(brokerId, kind.id);
    if (!this.#isConfigured(brokerId, kind)) await rm(place.folder, { recursive: true, force: true }).catch(onFault);
    const bridge = thread.open(place);
    const plugin = new BridgePlugin({ kind, configs, bridge, rules, emit, onFault });
    return { plugin, end: () => bridge.close({ forGood: false }) };
  }
}
