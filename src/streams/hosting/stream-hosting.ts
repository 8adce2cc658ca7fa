import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes, HostedBeside } from '../../brokers/broker-runtimes.ts';
import type { ControlEvent } from '../../control/envelope.ts';
import type { HostedCalls } from '../../hosting/hosted-calls.ts';
import type { Hosted } from '../../hosting/hosted-plugin.ts';
import { Hosting } from '../../hosting/hosting.ts';
import { leftFolders } from '../../hosting/left-folders.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { Storage } from '../../storage/storage.ts';
import { STREAM_API } from '../control/stream-control.ts';
import { StreamPlugin } from '../control/stream-plugin.ts';
import { StreamDirectory } from '../definition/stream-directory.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { streamHints } from './stream-hints.ts';

export interface StreamHostingOptions {
  readonly storage: Storage;
  /** Told of brokers that are removed. */
  readonly brokers: BrokerDirectory;
  readonly engines: { open(brokerId: string, link: BrokerLinkOptions): StreamEngine };
  /** That stored messages are kept in, in a folder for each broker. */
  readonly folder: string;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  readonly log: Logger;
}

/** Of the time in which a command is to be answered: how long it waits for its stream to be subscribed. */
const SETTLE_SHARE = 0.7;

/** Of the connections that streams beside a broker have of their own; the same ones after a restart. */
const streamClientIds = (brokerId: string): readonly string[] => [
  `brokergraph-${brokerId}-streams`,
  `brokergraph-${brokerId}-streams-out`,
];

/** Streams beside brokers that do not serve them. */
export class StreamHosting {
  readonly #options: StreamHostingOptions;
  readonly #directory: StreamDirectory;
  readonly #hosting: Hosting;

  constructor(options: StreamHostingOptions) {
    const { storage, brokers, folder, calls, log } = options;
    const { db, changes, leases } = storage;
    this.#options = options;
    this.#directory = new StreamDirectory({ db, changes, log });
    this.#hosting = new Hosting({
      name: 'streams',
      kinds: [
        {
          api: STREAM_API,
          hints: streamHints,
          isWanted: (brokerId) => this.#directory.of(brokerId).all().length > 0,
          begin: (link, emit) => this.#begin(link, emit),
        },
      ],
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
    return { plugins: this.#hosting.plugins(link), clientIds: streamClientIds(link.id) };
  }

  /** From here on streams run. */
  start(runtimes: BrokerRuntimes): void {
    this.#directory.onChange((brokerId) => this.#hosting.look(brokerId));
    this.#hosting.start(runtimes);
  }

  /** Streams beside this broker run in this process. */
  runs(brokerId: string): boolean {
    return this.#hosting.runs(STREAM_API, brokerId) && this.#directory.of(brokerId).all().length > 0;
  }

  async close(): Promise<void> {
    this.#hosting.close();
    await this.#directory.close();
  }

  async #begin(link: BrokerLinkOptions, emit: (event: ControlEvent) => void): Promise<Hosted> {
    const { engines, log } = this.#options;
    const definitions = this.#directory.of(link.id);
    await this.#eraseLeft(link.id, new Set(definitions.all().map(({ id }) => id)));
    const engine = engines.open(link.id, link);
    const plugin = new StreamPlugin({
      definitions,
      engine,
      emit,
      settleMs: link.timeoutMs * SETTLE_SHARE,
      onFault: (error) => log.error({ err: error, brokerId: link.id }, 'streams of a broker could not be run'),
    });
    return { plugin, end: () => engine.close() };
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
}
