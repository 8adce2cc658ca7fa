import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import { leftFolders } from '../../../protocol/hosting/left-folders.ts';
import { STREAM_API } from '../control/stream-control.ts';
import { StreamPlugin } from '../control/stream-plugin.ts';
import { StreamDirectory } from '../definition/stream-directory.ts';
import { streamHints } from './stream-hints.ts';
import type { StreamThread } from './stream-thread.ts';

export interface StreamHostingOptions extends HostingParts {
  readonly thread: Pick<StreamThread, 'openEngine'>;
  /** That stored messages are kept in, in a folder for each broker. */
  readonly folder: string;
}

/** Of the time in which a command is to be answered: how long it waits for its stream to be subscribed. */
const SETTLE_SHARE = 0.7;

/** Of the connections that streams beside a broker have of their own; the same ones after a restart. */
const streamClientIds = (brokerId: string): readonly string[] => [
  `brokergraph-${brokerId}-streams`,
  `brokergraph-${brokerId}-streams-out`,
];

/** Streams beside brokers that do not serve them. */
export function streamHosting({ thread, folder, ...parts }: StreamHostingOptions): Hosting {
  const { storage, log } = parts;
  const { db, changes } = storage;
  const directory = new StreamDirectory({ db, changes, log });
  return new Hosting({
    ...parts,
    name: 'streams',
    kinds: [
      {
        api: STREAM_API,
        hints: streamHints,
        isWanted: (brokerId) => directory.of(brokerId).all().length > 0,
        begin: async (link, emit) => {
          const definitions = directory.of(link.id);
          const kept = new Set(definitions.all().map(({ id }) => id));
          await eraseLeft(join(folder, link.id), kept).catch((error: unknown) => {
            log.error({ err: error, brokerId: link.id }, 'stored messages of deleted streams could not be erased');
          });
          const engine = thread.openEngine(link.id, link);
          const plugin = new StreamPlugin({
            definitions,
            engine,
            emit,
            settleMs: link.timeoutMs * SETTLE_SHARE,
            onFault: (error) => log.error({ err: error, brokerId: link.id }, 'streams of a broker could not be run'),
          });
          return { plugin, end: () => engine.close() };
        },
      },
    ],
    kept: directory,
    connections: (brokerId) => ({ clientIds: streamClientIds(brokerId) }),
    folder,
  });
}

/** Streams that were deleted while another process ran them. What cannot be erased now is tried again when they run again. */
async function eraseLeft(folder: string, kept: ReadonlySet<string>): Promise<void> {
  const left = await leftFolders(folder, (id) => kept.has(id));
  for (const path of left) await rm(path, { recursive: true, force: true });
}
