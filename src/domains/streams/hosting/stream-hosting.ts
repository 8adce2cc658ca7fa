import { STREAM_API, STREAM_CHANGED } from '../../../data-plane/streams/control/stream-control.ts';
import { StreamPlugin } from '../../../data-plane/streams/control/stream-plugin.ts';
import type { StreamDefinitions } from '../../../data-plane/streams/definition/stream-definitions.ts';
import {
  type StorePlace,
  type StreamThread,
  streamClientIds,
} from '../../../data-plane/streams/hosting/stream-thread.ts';
import type { StreamEngine } from '../../../data-plane/streams/model/stream-engine.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { EventForwarding } from '../../../protocol/hosting/hosted-events.ts';
import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import type { JobStore } from '../../jobs/job-store.ts';
import { ReplayJobs } from './replay-jobs.ts';
import { StreamCache } from './stream-cache.ts';

interface StreamHostingOptions extends HostingParts {
  readonly thread: Pick<StreamThread, 'openEngine'>;
  readonly place: StorePlace;
  readonly jobs: JobStore;
}

/** The part of a command's timeout that it waits for its stream to be subscribed. */
const SETTLE_SHARE = 0.7;

/** The keys are names of streams. */
export const streamEvents: EventForwarding = {
  keyOf: ({ streamname }) => (typeof streamname === 'string' && streamname !== '' ? streamname : null),
  command: (name) =>
    name === null ? { command: 'listStreams', verbose: true } : { command: 'getStream', streamname: name },
  eventsOf: (response) => {
    if (!isFields(response)) return [];
    const streams: unknown[] = Array.isArray(response.streams) ? response.streams : [response.stream];
    return streams
      .filter(isFields)
      .map(({ streamname, report }) => ({ type: 'event', event: STREAM_CHANGED, streamname, report }));
  },
};

export function streamHosting({ thread, place, jobs, ...parts }: StreamHostingOptions): Hosting {
  const folder = 'folder' in place ? place.folder : null;
  const { storage, log } = parts;
  const { db, changes } = storage;
  const streams = new StreamCache({ db, changes, log });
  return new Hosting({
    ...parts,
    name: 'streams',
    apis: [
      {
        api: STREAM_API,
        forwarding: streamEvents,
        isWanted: (brokerId) => streams.of(brokerId).all().length > 0,
        start: async (link, emit) => {
          const { id: brokerId, timeoutMs } = link;
          const definitions = streams.of(brokerId);
          const engine = thread.openEngine(brokerId, link);
          const settleMs = timeoutMs * SETTLE_SHARE;
          const onFault = (error: unknown) => log.error({ err: error, brokerId }, 'streams of a broker could not run');
          const replays = new ReplayJobs(jobs, brokerId);
          const plugin = new StreamPlugin({ definitions, engine, replays, emit, settleMs, onFault });
          // With PostgreSQL, `MessageExpiry` deletes them.
          if (folder !== null) void plugin.started.then(() => removeDeleted(engine, definitions)).catch(onFault);
          const close = async () => {
            const suspended = plugin.suspendReplays();
            await engine.close();
            await suspended;
          };
          return { plugin, close };
        },
      },
    ],
    config: streams,
    connections: (brokerId) => ({ clientIds: streamClientIds(brokerId) }),
    folder,
  });
}

/** What is stored of streams that were deleted before an exit of the process. */
const removeDeleted = (engine: StreamEngine, definitions: StreamDefinitions): Promise<void> =>
  engine.removeOthers(definitions.all().map(({ id }) => id));
