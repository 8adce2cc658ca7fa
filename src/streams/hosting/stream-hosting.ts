import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntime, BrokerRuntimes, HostedBeside } from '../../brokers/broker-runtimes.ts';
import type { ControlPlugin, PluginHost, Unavailable } from '../../control/plugin.ts';
import { ServiceError } from '../../errors.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { Storage } from '../../storage/storage.ts';
import { STREAM_API } from '../control/stream-control.ts';
import { StreamDirectory } from '../definition/stream-directory.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { HostedStreams } from './hosted-streams.ts';
import { leftFolders } from './left-folders.ts';
import { StreamCalls } from './stream-calls.ts';

export interface StreamHostingOptions {
  readonly storage: Storage;
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  readonly engines: { open(brokerId: string, link: BrokerLinkOptions): StreamEngine };
  /** That stored messages are kept in, in a folder for each broker. */
  readonly folder: string;
  /** Longest wait for another process. */
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** Of the connections that streams beside a broker have of their own; the same ones after a restart. */
export const streamClientIds = (brokerId: string): readonly string[] => [
  `brokergraph-${brokerId}-streams`,
  `brokergraph-${brokerId}-streams-out`,
];

/**
 * Streams beside brokers that do not serve them. Streams that are kept run without being asked for, as soon as their broker is
 * connected; for a broker that has none nothing is opened.
 */
export class StreamHosting {
  readonly #options: StreamHostingOptions;
  readonly #directory: StreamDirectory;
  readonly #calls: StreamCalls | null;
  readonly #hosted = new Map<string, HostedStreams>();
  readonly #runtimes = new Map<string, BrokerRuntime>();
  readonly #stops: (() => void)[] = [];
  #started = false;

  constructor(options: StreamHostingOptions) {
    const { storage, log, timeoutMs } = options;
    const { db, changes, engine } = storage;
    this.#options = options;
    this.#directory = new StreamDirectory({ db, changes, log });
    this.#calls = engine === 'postgresql' ? new StreamCalls({ db, changes, log, timeoutMs }) : null;
  }

  load(): Promise<void> {
    return this.#directory.load();
  }

  /** What is beside a broker on a link. */
  beside(link: BrokerLinkOptions): HostedBeside {
    return {
      plugins: [{ api: STREAM_API, create: async (host) => this.#create(link, host) }],
      clientIds: streamClientIds(link.id),
    };
  }

  /** From here on streams run. A process that does one thing never comes here, and runs none. */
  start(runtimes: BrokerRuntimes): void {
    this.#started = true;
    this.#stops.push(
      this.#options.brokers.onRemove(({ id }) => this.#brokerRemoved(id)),
      this.#directory.onChange((brokerId) => this.#look(this.#runtimes.get(brokerId))),
    );
    void this.#tellLeft();
    runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') {
        this.#runtimes.delete(runtime.id);
        return;
      }
      this.#runtimes.set(runtime.id, runtime);
      runtime.link.onStatus(() => this.#look(runtime));
      this.#look(runtime);
    });
  }

  /** Streams beside this broker run in this process. */
  runs(brokerId: string): boolean {
    return this.#hosted.get(brokerId)?.isRunning === true && this.#directory.of(brokerId).all().length > 0;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#calls?.close();
    await this.#directory.close();
  }

  #create(link: BrokerLinkOptions, { emit }: PluginHost): ControlPlugin | Unavailable {
    if (!this.#started) return { unavailable: 'Streams are run by the service, which does not run in this process' };
    const { storage, engines, log } = this.#options;
    const definitions = this.#directory.of(link.id);
    const hosted = new HostedStreams({
      link,
      definitions,
      openEngine: async () => {
        await this.#eraseLeft(link.id, new Set(definitions.all().map(({ id }) => id)));
        return engines.open(link.id, link);
      },
      leases: storage.leases,
      calls: this.#calls,
      emit,
      onFault: (error) => log.error({ err: error, brokerId: link.id }, 'streams of a broker could not be run'),
    });
    this.#hosted.set(link.id, hosted);
    return hosted;
  }

  /** Finds out who serves the API where there is something to run. That it is found out, has it run. */
  #look(runtime: BrokerRuntime | undefined): void {
    if (runtime?.link.status.state !== 'CONNECTED' || this.#directory.of(runtime.id).all().length === 0) return;
    const { log } = this.#options;
    runtime.controls.capability(STREAM_API).then(
      ({ provider }) => {
        if (provider !== 'BROKER') return;
        log.warn({ brokerId: runtime.id }, 'the broker serves streams itself: those kept for it here are not run');
      },
      (error: unknown) => {
        // Gone again: it is looked at when it is back.
        if (error instanceof ServiceError) return;
        log.error({ err: error, brokerId: runtime.id }, 'who serves streams could not be found out');
      },
    );
  }

  /** Streams that were deleted while another process ran them. What cannot be erased now is tried again when they run again. */
  async #eraseLeft(brokerId: string, kept: ReadonlySet<string>): Promise<void> {
    const { folder, log } = this.#options;
    try {
      const left = await leftFolders(join(folder, brokerId), (id) => kept.has(id));
      for (const path of left) await rm(path, { recursive: true, force: true });
    } catch (error) {
      log.error({ err: error, brokerId }, 'stored messages of deleted streams could not be erased');
    }
  }

  /** A broker that is not known may as well be one of a database that this service was meant to have: nothing is erased. */
  async #tellLeft(): Promise<void> {
    const { brokers, folder, log } = this.#options;
    try {
      const folders = await leftFolders(folder, (id) => brokers.get(id) !== null);
      if (folders.length > 0) {
        log.warn(
          { folders },
          'stored messages are kept of brokers that this database does not have; delete what is not needed',
        );
      }
    } catch (error) {
      log.error({ err: error }, 'stored messages could not be looked for');
    }
  }

  /** Its rows went with it. */
  #brokerRemoved(brokerId: string): void {
    const hosted = this.#hosted.get(brokerId);
    this.#hosted.delete(brokerId);
    this.#directory.brokerRemoved(brokerId);
    const { folder, log } = this.#options;
    const erase = async () => {
      await hosted?.ended;
      await rm(join(folder, brokerId), { recursive: true, force: true });
    };
    erase().catch((error: unknown) => {
      log.error({ err: error, brokerId }, 'stored messages of a removed broker could not be erased');
    });
  }
}
