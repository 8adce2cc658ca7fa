import { TOPIC_API } from '../../../data-plane/topic-tree/control/topic-control.ts';
import { TopicTreePlugin } from '../../../data-plane/topic-tree/control/topic-tree-plugin.ts';
import type { TopicThread } from '../../../data-plane/topic-tree/hosting/topic-thread.ts';
import { PayloadRecorder } from '../../../data-plane/topic-tree/recorder/payload-recorder.ts';
import { hostedLinkOptions } from '../../../protocol/hosting/hosted-link-options.ts';
import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import type { TopicPayloads } from './topic-payloads.ts';
import { TopicSettingsCache } from './topic-settings-cache.ts';

interface TopicTreeHostingOptions extends HostingParts {
  readonly payloadsOf: (brokerId: string) => TopicPayloads;
  readonly thread: Pick<TopicThread, 'openRecorder'>;
  readonly maxBytes: number;
}

/** Topic trees for brokers that do not record topics themselves. */
export function topicTreeHosting({ payloadsOf, thread, maxBytes, ...parts }: TopicTreeHostingOptions): Hosting {
  const { storage, log } = parts;
  const settings = new TopicSettingsCache({ db: storage.db, changes: storage.changes, log });
  return new Hosting({
    ...parts,
    name: 'topic trees',
    apis: [
      {
        api: TOPIC_API,
        forwarding: null,
        isWanted: (brokerId) => settings.of(brokerId).get().isAlwaysOn,
        start: (link) => {
          const { id: brokerId } = link;
          const inThread = thread.openRecorder({
            local: hostedLinkOptions(link),
            clientId: clientIdOf(brokerId),
            maxBytes,
          });
          const payloads = payloadsOf(brokerId);
          const recorder = new PayloadRecorder(inThread, payloads.areStored);
          const onFault = (error: unknown) =>
            log.error({ err: error, brokerId }, 'topics of a broker could not be recorded');
          const stop = payloads.onChange(() => void recorder.payloadsChanged().catch(onFault));
          const plugin = new TopicTreePlugin({ settings: settings.of(brokerId), recorder, onFault });
          const close = async () => {
            stop();
            await recorder.close();
          };
          return { plugin, close };
        },
      },
    ],
    config: settings,
    connections: (brokerId) => ({ clientIds: [], clientIdPrefixes: [`${clientIdOf(brokerId)}-`] }),
    folder: null,
  });
}

const clientIdOf = (brokerId: string) => `brokergraph-${brokerId}-topics`;
