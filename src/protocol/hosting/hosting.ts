import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BrokerCache } from '../../domains/brokers/broker-cache.ts';
import type { BrokerRuntime, BrokerRuntimes, GatewayPlugins } from '../../domains/brokers/broker-runtimes.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { ControlApi, ControlEvent } from '../control/envelope.ts';
import type { PluginFactory } from '../control/plugin.ts';
import type { BrokerLinkOptions } from '../mqtt/broker-link.ts';
import type { Stop } from '../mqtt/broker-session.ts';
import type { HostedCalls } from './hosted-calls.ts';
import type { EventHints } from './hosted-hints.ts';
import { type Hosted, HostedPlugin } from './hosted-plugin.ts';
import { leftFolders } from './left-folders.ts';

/** One API that is hosted. */
export interface HostedKind {
  readonly api: ControlApi;
  /** Null: it tells no events. */
  readonly hints: EventHints | null;
  /** Something is kept for the broker, which runs without being asked for. */
  isWanted(brokerId: string): boolean;
  begin(link: BrokerLinkOptions, emit: (event: ControlEvent) => void): Hosted | Promise<Hosted>;
}

/** What is kept in the database for brokers, of all of them, held in memory. */
export interface KeptForBrokers {
  load(): Promise<void>;
  /** Tells of brokers for which something else is kept, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop;
  /** Its rows went with it. */
  brokerRemoved(brokerId: string): void;
  close(): Promise<void>;
}

/** What all of it stands on. */
export interface HostingParts {
  readonly storage: Storage;
  /** Told of brokers that are removed. */
  readonly brokers: BrokerCache;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  readonly log: Logger;
}

export interface HostingOptions extends HostingParts {
  /** Of all that is hosted, for people: as `streams`. */
  readonly name: string;
  readonly kinds: readonly HostedKind[];
  readonly kept: KeptForBrokers;
  /** Connections to a broker that what is hosted has of its own. */
  readonly connections: (brokerId: string) => Omit<GatewayPlugins, 'plugins'>;
  /** In it there is a folder for each broker, gone with it; null: nothing is stored. */
  readonly folder: string | null;
}

/**
 * What is hosted beside brokers that do not serve an API themselves. What is kept for a broker runs without being asked for, as soon as
 * the broker is connected; where nothing is kept, nothing runs.
 */
export class Hosting {
  readonly #options: HostingOptions;
  /** By API and broker. */
  readonly #hosted = new Map<ControlApi, Map<string, HostedPlugin>>();
  readonly #runtimes = new Map<string, BrokerRuntime>();
  #stop: () => void = () => undefined;
  #started = false;

  constructor(options: HostingOptions) {
    this.#options = options;
    for (const { api } of options.kinds) this.#hosted.set(api, new Map());
  }

  get apis(): readonly ControlApi[] {
    return this.#options.kinds.map(({ api }) => api);
  }

  load(): Promise<void> {
    return this.#options.kept.load();
  }

  /** What is beside a broker on a link. */
  beside(link: BrokerLinkOptions): GatewayPlugins {
    return { plugins: this.#plugins(link), ...this.#options.connections(link.id) };
  }

  /** From here on it runs. A process that does one thing never comes here, and runs none. */
  start(runtimes: BrokerRuntimes): void {
    this.#started = true;
    this.#options.kept.onChange((brokerId) => this.#look(brokerId));
    this.#stop = this.#options.brokers.onRemove(({ id }) => this.#brokerRemoved(id));
    void this.#tellLeft();
    runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') {
        this.#runtimes.delete(runtime.id);
        return;
      }
      this.#runtimes.set(runtime.id, runtime);
      runtime.link.onStatus(() => this.#look(runtime.id));
      this.#look(runtime.id);
    });
  }

  /** Something that is kept for this broker runs in this process. */
  runs(brokerId: string): boolean {
    const isRunning = ({ api }: HostedKind) => this.#hosted.get(api)?.get(brokerId)?.isRunning === true;
    return this.#options.kinds.some((kind) => isRunning(kind) && kind.isWanted(brokerId));
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#options.kept.close();
  }

  #plugins(link: BrokerLinkOptions): PluginFactory[] {
    const { name, kinds, storage, calls, log } = this.#options;
    return kinds.map(({ api, hints, begin, isWanted }) => ({
      api,
      isKept: () => isWanted(link.id),
      create: async ({ emit, isHeard }) => {
        if (!this.#started) {
          return { unavailable: `What serves ${api} is run by the service, which does not run in this process` };
        }
        const hosted = new HostedPlugin({
          api,
          brokerId: link.id,
          hints,
          begin: (tell) => begin(link, tell),
          leases: storage.leases,
          calls,
          emit,
          isHeard,
          onFault: (error) => log.error({ err: error, brokerId: link.id, api }, `${name} of a broker could not be run`),
        });
        this.#hosted.get(api)?.set(link.id, hosted);
        return hosted;
      },
    }));
  }

  /** Finds out who serves the APIs for which something is to run. That it is found out, has it run. */
  #look(brokerId: string): void {
    const runtime = this.#runtimes.get(brokerId);
    if (runtime?.link.status.state !== 'CONNECTED') return;
    for (const { api, isWanted } of this.#options.kinds) if (isWanted(brokerId)) this.#findOut(api, runtime);
  }

  #findOut(api: ControlApi, { id: brokerId, controls }: BrokerRuntime): void {
    const { name, log } = this.#options;
    controls.capability(api).then(
      ({ provider }) => {
        if (provider !== 'BROKER') return;
        log.warn({ brokerId, api }, `the broker serves ${name} itself: those kept for it here are not run`);
      },
      (error: unknown) => {
        // Gone again: it is looked at when it is back.
        if (error instanceof ServiceError) return;
        log.error({ err: error, brokerId, api }, `who serves ${name} could not be found out`);
      },
    );
  }

  /** A broker that is not known may as well be one of a database that this service was meant to have: nothing is erased. */
  async #tellLeft(): Promise<void> {
    const { name, brokers, folder, log } = this.#options;
    if (folder === null) return;
    try {
      const folders = await leftFolders(folder, (id) => brokers.get(id) !== null);
      if (folders.length > 0) {
        log.warn(
          { folders },
          `what ${name} stored is kept of brokers that this database does not have; delete what is not needed`,
        );
      }
    } catch (error) {
      log.error({ err: error }, `what ${name} stored could not be looked for`);
    }
  }

  #brokerRemoved(brokerId: string): void {
    const { name, folder, kept, log } = this.#options;
    const ending: Promise<void>[] = [];
    for (const hosted of this.#hosted.values()) {
      const one = hosted.get(brokerId);
      if (one) ending.push(one.ended);
      hosted.delete(brokerId);
    }
    kept.brokerRemoved(brokerId);
    if (folder === null) return;
    const erase = async () => {
      await Promise.all(ending);
      await rm(join(folder, brokerId), { recursive: true, force: true });
    };
    erase().catch((error: unknown) => {
      log.error({ err: error, brokerId }, `what ${name} of a removed broker stored could not be erased`);
    });
  }
}
