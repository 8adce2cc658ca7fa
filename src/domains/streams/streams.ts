import { HostedPart } from '../../protocol/hosting/hosted-part.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { streamHosting } from './hosting/stream-hosting.ts';
import { StreamThread } from './hosting/stream-thread.ts';
import { StreamService } from './stream-service.ts';

interface StreamsOptions extends HostingParts {
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly folder: string;
  readonly maxBytes: number;
  readonly workerUrl: URL | undefined;
}

export class Streams extends HostedPart<StreamService> {
  readonly service: StreamService;
  protected readonly thread: StreamThread;
  protected readonly hosting: Hosting;

  constructor({ folder, maxBytes, workerUrl, ...parts }: StreamsOptions) {
    super();
    const { brokers: directory, runtimes, log } = parts;
    this.thread = new StreamThread({ folder, maxBytes, workerUrl, log });
    this.hosting = streamHosting({ ...parts, thread: this.thread, folder });
    const onFault = (error: unknown) => log.error({ err: error }, 'streams could not be followed');
    this.service = new StreamService({ runtimes, directory, onFault });
  }
}
