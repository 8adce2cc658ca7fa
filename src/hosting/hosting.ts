import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BrokerDirectory } from '../brokers/broker-directory.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ControlApi, ControlEvent } from '../control/envelope.ts';
import type { PluginFactory } from '../control/plugin.ts';
import { ServiceError } from '../errors.ts';
import type { BrokerLinkOptions } from '../mqtt/broker-link.ts';
import type { Leases } from '../storage/leases.ts';
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

export interface HostingOptions {
  /** Of all that is hosted, for people: as `streams`. */
  readonly name: string;
  readonly kinds: readonly HostedKind[];
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  /** In it there is a folder for each broker, gone with it; null: nothing is stored. */
  readonly folder: string | null;
  readonly leases: Leases;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  /** The broker's rows went with it: what is kept in memory of them goes, too. */
  readonly forget: (brokerId: string) => void;
  readonly log: Logger;
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

  /** For BrokerRuntimes. */
  plugins(link: BrokerLinkOptions): PluginFactory[] {
    const { name, kinds, leases, calls, log } = this.#options;
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
          leases,
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

  /** From here on it runs. A process that does one thing never comes here, and runs none. */
  start(runtimes: BrokerRuntimes): void {
    this.#started = true;
    this.#stop = this.#options.brokers.onRemove(({ id }) => this.#brokerRemoved(id));
    void this.#tellLeft();
    runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') {
        this.#runtimes.delete(runtime.id);
        return;
      }
      this.#runtimes.set(runtime.id, runtime);
      runtime.link.onStatus(() => this.look(runtime.id));
      this.look(runtime.id);
    });
  }

  /** Finds out who serves the APIs for which something is to run. That it is found out, has it run. */
  look(brokerId: string): void {
    const runtime = this.#runtimes.get(brokerId);
    if (runtime?.link.status.state !== 'CONNECTED') return;
    for (const { api, isWanted } of this.#options.kinds) if (isWanted(brokerId)) this.#findOut(api, runtime);
  }

  /** In this process. */
  runs(api: ControlApi, brokerId: string): boolean {
    return this.#hosted.get(api)?.get(brokerId)?.isRunning === true;
  }

  close(): void {
    this.#stop();
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
    const { name, folder, forget, log } = this.#options;
    const ending: Promise<void>[] = [];
    for (const hosted of this.#hosted.values()) {
      const one = hosted.get(brokerId);
      if (one) ending.push(one.ended);
      hosted.delete(brokerId);
    }
    forget(brokerId);
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
