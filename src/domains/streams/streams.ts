import { existsSync } from 'node:fs';
import { type PostgresqlPlace, type StorePlace, StreamThread } from '../../data-plane/streams/hosting/stream-thread.ts';
import { HostedPart } from '../../protocol/hosting/hosted-part.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { JobStore } from '../jobs/job-store.ts';
import { MessageExpiry } from './hosting/message-expiry.ts';
import { streamHosting } from './hosting/stream-hosting.ts';
import { StreamService } from './stream-service.ts';

interface StreamsOptions extends HostingParts {
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly place: StorePlace;
  readonly jobs: JobStore;
  readonly maxBytes: number;
  readonly workerUrl: URL | undefined;
}

export class Streams extends HostedPart<StreamService> {
  readonly service: StreamService;
  protected readonly thread: StreamThread;
  protected readonly hosting: Hosting;
  /** `null` if messages are stored in files, which the thread deletes. */
  readonly #expiry: MessageExpiry | null;
  readonly #options: StreamsOptions;

  constructor(options: StreamsOptions) {
    super();
    this.#options = options;
    const { place, jobs, maxBytes, workerUrl, ...parts } = options;
    const { brokers: brokerCache, runtimes, storage, log } = parts;
    this.thread = new StreamThread({ place, maxBytes, workerUrl, log });
    this.hosting = streamHosting({ ...parts, thread: this.thread, place, jobs });
    this.#expiry = 'folder' in place ? null : new MessageExpiry({ ...storage, log });
    const onFault = (error: unknown) => log.error({ err: error }, 'streams could not be followed');
    this.service = new StreamService({ runtimes, brokerCache, onFault });
  }

  override async start(): Promise<void> {
    const { place } = this.#options;
    if ('databaseUrl' in place) await this.#moveFormerMessages(place);
    await super.start();
    this.#expiry?.start();
  }

  override async close(): Promise<void> {
    await this.#expiry?.close();
    await super.close();
  }

  async #moveFormerMessages({ databaseUrl, formerFolder: folder }: PostgresqlPlace): Promise<void> {
    if (!existsSync(folder)) return;
    const { storage, log } = this.#options;
    const streams = await storage.db.stream.findMany({ select: { id: true, ttl: true } });
    const ttls = new Map(streams.map(({ id, ttl }) => [id, ttl]));
    const { importFiles } = await import('../../data-plane/log/postgresql/file-import.ts');
    const count = await importFiles({
      folder,
      databaseUrl,
      ttlOf: (streamId) => ttls.get(streamId) ?? null,
      onProblem: (streamId, reason) => log.warn({ streamId, reason }, 'stored messages of streams cannot be moved'),
    });
    if (count > 0) log.info({ count }, 'stored messages of streams were moved to the database');
  }
}
