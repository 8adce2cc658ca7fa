import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import { localOf } from '../../../protocol/hosting/local-broker.ts';
import { TOPIC_API } from '../control/topic-control.ts';
import { TopicTreePlugin } from '../control/topic-tree-plugin.ts';
import type { KeptPayloads } from './kept-payloads.ts';
import { ProjectRecorder } from './project-recorder.ts';
import { TopicSettingsDirectory } from './topic-settings-directory.ts';
import type { TopicThread } from './topic-thread.ts';

export interface TopicTreeHostingOptions extends HostingParts {
  readonly payloads: KeptPayloads;
  readonly thread: Pick<TopicThread, 'openRecorder'>;
  /** Of one broker's trees and payloads in memory. */
  readonly maxBytes: number;
}

/** Topic trees beside brokers that do not record topics themselves. */
export function topicTreeHosting(options: TopicTreeHostingOptions): Hosting {
  const { payloads, thread, maxBytes, ...parts } = options;
  const { storage, log } = parts;
  const { db, changes } = storage;
  const directory = new TopicSettingsDirectory({ db, changes, log });
  return new Hosting({
    ...parts,
    name: 'topic trees',
    kinds: [
      {
        api: TOPIC_API,
        // What changes is asked for.
        hints: null,
        isWanted: (brokerId) => directory.of(brokerId).get().isAlwaysOn,
        begin: (link) => {
          const { id: brokerId } = link;
          const inThread = thread.openRecorder({ local: localOf(link), clientId: clientIdOf(brokerId), maxBytes });
          const { areKept, watch } = payloads.of(brokerId);
          const recorder = new ProjectRecorder(inThread, areKept);
          const onFault = (error: unknown) =>
            log.error({ err: error, brokerId }, 'topics of a broker could not be recorded');
          const unwatch = watch(() => void recorder.projectChanged().catch(onFault));
          const plugin = new TopicTreePlugin({ settings: directory.of(brokerId), recorder, onFault });
          const end = async () => {
            unwatch();
            await recorder.close();
          };
          return { plugin, end };
        },
      },
    ],
    kept: directory,
    connections: (brokerId) => ({ clientIds: [], clientIdPrefixes: [`${clientIdOf(brokerId)}-`] }),
    folder: null,
  });
}

/** What the ids of a recorder's connections begin with. */
const clientIdOf = (brokerId: string) => `brokergraph-${brokerId}-topics`;
