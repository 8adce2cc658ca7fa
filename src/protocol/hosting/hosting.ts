import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ServiceError } from '../../platform/errors.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { ControlApi, ControlEvent } from '../control/envelope.ts';
import type { ControlCapability, PluginFactory } from '../control/plugin.ts';
import type { BrokerSession, Stop } from '../mqtt/broker-session.ts';
import type { BrokerLinkOptions } from '../mqtt/link-options.ts';
import type { GatewayPlugins } from './gateway-plugins.ts';
import type { HostedCalls } from './hosted-calls.ts';
import type { EventForwarding } from './hosted-events.ts';
import { type Hosted, HostedPlugin } from './hosted-plugin.ts';
import { orphanedFolders } from './orphaned-folders.ts';
import type { Placement } from './placement/placement.ts';

interface HostedApi {
  readonly api: ControlApi;
  readonly forwarding: EventForwarding | null;
  isWanted(brokerId: string): boolean;
  start(link: BrokerLinkOptions, emit: (event: ControlEvent) => void): Hosted | Promise<Hosted>;
}

interface HostedConfig {
  load(): Promise<void>;
  onBrokerChange(listener: (brokerId: string) => void): Stop;
  brokerRemoved(brokerId: string): void;
  close(): Promise<void>;
}

interface KnownBrokers {
  get(id: string): { readonly name: string } | null;
  onRemove(listener: (removed: { readonly id: string }) => void): Stop;
}

interface LinkedBroker {
  readonly id: string;
  readonly link: Pick<BrokerSession, 'status' | 'onStatus'>;
  readonly controls: { capability(api: ControlApi): Promise<ControlCapability> };
}

interface LinkedBrokers {
  addPlugins(pluginsOf: (link: BrokerLinkOptions) => GatewayPlugins): void;
  onRuntime(listener: (broker: LinkedBroker, change: 'OPENED' | 'CLOSING') => void): void;
}

export interface HostingParts {
  readonly storage: Storage;
  readonly brokers: KnownBrokers;
  readonly runtimes: LinkedBrokers;
  readonly placement: Placement;
  readonly calls: HostedCalls | null;
  readonly log: Logger;
}

interface HostingOptions extends HostingParts {
  /** What is hosted, for log messages: `streams`. */
  readonly name: string;
  readonly apis: readonly HostedApi[];
  readonly config: HostedConfig;
  readonly connections: (brokerId: string) => Omit<GatewayPlugins, 'plugins'>;
  /** Contains a folder for each broker, deleted with the broker; `null` if nothing is stored in files. */
  readonly folder: string | null;
}

export class Hosting {
  readonly #options: HostingOptions;
  readonly #hosted: ReadonlyMap<ControlApi, Map<string, HostedPlugin>>;
  readonly #linked = new Map<string, LinkedBroker>();
  /** Plugins that another process has sent a command for while the broker was not connected here. */
  readonly #called = new Set<string>();
  #stops: readonly Stop[] = [];
  #isStarted = false;

  constructor(options: HostingOptions) {
    this.#options = options;
    this.#hosted = new Map(options.apis.map(({ api }) => [api, new Map()]));
    options.runtimes.addPlugins((link) => ({
      plugins: options.apis.map((hosted) => this.#factory(hosted, link)),
      ...options.connections(link.id),
    }));
  }

  get apis(): readonly ControlApi[] {
    return [...this.#hosted.keys()];
  }

  /** Only the service calls it, before it opens links. Commands of the command line host no plugins. */
  async start(): Promise<void> {
    const { config, brokers, runtimes, calls } = this.#options;
    await config.load();
    this.#isStarted = true;
    config.onBrokerChange((brokerId) => this.#startWanted(brokerId));
    const stopRemovals = brokers.onRemove(({ id }) => this.#brokerRemoved(id));
    const stopCalls = calls?.onUnserved((brokerId, api) => this.#startCalled(brokerId, api));
    this.#stops = [stopRemovals, stopCalls ?? (() => undefined)];
    void this.#logUnknownFolders();
    runtimes.onRuntime((broker, change) => {
      if (change === 'CLOSING') {
        this.#linked.delete(broker.id);
        for (const { api } of this.#options.apis) this.#called.delete(`${broker.id} ${api}`);
        return;
      }
      this.#linked.set(broker.id, broker);
      broker.link.onStatus(() => this.#startWanted(broker.id));
      this.#startWanted(broker.id);
    });
  }

  runs(brokerId: string): boolean {
    return this.#options.apis.some(
      ({ api, isWanted }) => this.#hosted.get(api)?.get(brokerId)?.isRunning === true && isWanted(brokerId),
    );
  }

  /** Whether something stored for the broker will run in this process, but its plugin does not run yet. */
  isPending(brokerId: string): boolean {
    // A broker that serves an API itself has no plugin for it while it is connected.
    const isConnected = this.#linked.get(brokerId)?.link.status.state === 'CONNECTED';
    return this.#options.apis.some(({ api, isWanted }) => {
      const hosted = this.#hosted.get(api)?.get(brokerId);
      return isWanted(brokerId) && !(hosted?.isRunning ?? isConnected);
    });
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#options.config.close();
  }

  #factory({ api, forwarding, start, isWanted }: HostedApi, link: BrokerLinkOptions): PluginFactory {
    const { name, placement, calls, log } = this.#options;
    const { id: brokerId } = link;
    return {
      api,
      isKept: () => isWanted(brokerId),
      create: async ({ emit, isHeard }) => {
        if (!this.#isStarted) {
          const text = `${api} is served by the service, and this process is another`;
          return { unavailable: { code: 'OTHER_PROCESS', text } };
        }
        const hosted = new HostedPlugin({
          api,
          brokerId,
          forwarding,
          start: (emitAll) => start(link, emitAll),
          placement,
          calls,
          emit,
          isHeard,
          onFault: (error) => log.error({ err: error, brokerId, api }, `${name} of a broker could not run`),
        });
        this.#hosted.get(api)?.set(brokerId, hosted);
        return hosted;
      },
    };
  }

  /** The first thing that is stored for a broker may come from any process; its own one serves the command. */
  #startCalled(brokerId: string, api: string): void {
    const { apis, brokers, placement } = this.#options;
    if (brokers.get(brokerId) === null || !placement.isMine(brokerId) || !apis.some((one) => one.api === api)) return;
    this.#called.add(`${brokerId} ${api}`);
    this.#startWanted(brokerId);
  }

  /** The query for the provider of an API creates the plugin, and with it starts what is stored. */
  #startWanted(brokerId: string): void {
    const { name, apis, log } = this.#options;
    const broker = this.#linked.get(brokerId);
    if (broker?.link.status.state !== 'CONNECTED') return;
    for (const { api, isWanted } of apis) {
      if (!this.#called.delete(`${brokerId} ${api}`) && !isWanted(brokerId)) continue;
      broker.controls.capability(api).then(
        ({ provider }) => {
          if (provider !== 'BROKER') return;
          log.warn({ brokerId, api }, `the broker serves ${name} itself: those stored by this service do not run`);
        },
        (error: unknown) => {
          // Disconnected: the next connection repeats the query.
          if (error instanceof ServiceError) return;
          log.error({ err: error, brokerId, api }, `the provider of ${name} could not be determined`);
        },
      );
    }
  }

  /** Deletes nothing: the broker may exist in another database, and this service may have the wrong DATABASE_URL. */
  async #logUnknownFolders(): Promise<void> {
    const { name, brokers, folder, log } = this.#options;
    if (folder === null) return;
    try {
      const folders = await orphanedFolders(folder, (id) => brokers.get(id) !== null);
      if (folders.length === 0) return;
      log.warn({ folders }, `${name} have folders of brokers that are not in this database: delete unneeded folders`);
    } catch (error) {
      log.error({ err: error }, `the folders of ${name} could not be listed`);
    }
  }

  #brokerRemoved(brokerId: string): void {
    const { name, folder, config, log } = this.#options;
    const closed: Promise<void>[] = [];
    for (const [api, hosted] of this.#hosted) {
      const plugin = hosted.get(brokerId);
      if (plugin) closed.push(plugin.closed);
      hosted.delete(brokerId);
      this.#called.delete(`${brokerId} ${api}`);
    }
    config.brokerRemoved(brokerId);
    if (folder === null) return;
    Promise.all(closed)
      .then(() => rm(join(folder, brokerId), { recursive: true, force: true }))
      .catch((error: unknown) => {
        log.error({ err: error, brokerId }, `the files of ${name} of a removed broker could not be deleted`);
      });
  }
}
