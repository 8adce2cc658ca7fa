import type { Closers } from '../../platform/closers.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { streamHosting } from './hosting/stream-hosting.ts';
import { StreamThread } from './hosting/stream-thread.ts';
import { StreamService } from './stream-service.ts';

interface StreamsOptions extends HostingParts {
  readonly brokers: BrokerCache;
  /** Folder of stored messages, with a subfolder per broker. */
  readonly folder: string;
  /** Maximum disk use of the stored messages of one broker, in bytes. */
  readonly maxBytes: number;
  /** The compiled worker. `undefined`: the file next to its module. */
  readonly workerUrl: URL | undefined;
  readonly closers: Closers;
}

/**
 * The parts of streams, created in two steps: broker links need the hosted plugins, and the service needs the links.
 */
interface Streams {
  readonly hosting: Hosting;
  connect(runtimes: BrokerRuntimes): StreamService;
}

export async function openStreams(options: StreamsOptions): Promise<Streams> {
  const { folder, maxBytes, workerUrl, closers, ...parts } = options;
  const { brokers, log } = parts;
  const thread = closers.keep(new StreamThread({ folder, maxBytes, workerUrl, log }));
  const hosting = closers.keep(streamHosting({ ...parts, thread, folder }));
  await hosting.load();
  const onFault = (error: unknown) => log.error({ err: error }, 'streams could not be followed');
  return {
    hosting,
    connect: (runtimes) => closers.keep(new StreamService({ runtimes, directory: brokers, onFault })),
  };
}
