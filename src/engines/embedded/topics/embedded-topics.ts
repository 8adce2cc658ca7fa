import { TopicTreePlugin } from '../../../domains/topic-tree/control/topic-tree-plugin.ts';
import { PayloadRecorder } from '../../../domains/topic-tree/hosting/topic-payloads.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../domains/topic-tree/model/topic-settings.ts';
import type { ControlServer } from '../control/control-server.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { Journal } from '../store/journal.ts';
import { EmbeddedTopicRecorder } from './embedded-topic-recorder.ts';

interface EmbeddedTopicsOptions {
  readonly core: BrokerCore;
  readonly registry: ClientRegistry;
  readonly store: BrokerStore;
  readonly control: ControlServer;
  readonly ownClientIds: string;
  readonly maxBytes: number;
  /** Whether payloads are stored. Call `payloadsChanged` after a change. */
  readonly arePayloadsStored: () => boolean;
  readonly onProblem: (problem: string, error: unknown) => void;
}

/** Registers `cedalo/topictree`. If recording is always on, it has started when this function resolves. */
export async function startTopics(options: EmbeddedTopicsOptions) {
  const { core, registry, store, control, ownClientIds, maxBytes, arePayloadsStored, onProblem } = options;
  const { sessions, retained } = store;
  const inBroker = new EmbeddedTopicRecorder({ core, registry, sessions, retained, ownClientIds, maxBytes, onProblem });
  const recorder = new PayloadRecorder(inBroker, arePayloadsStored);
  const onFault = (error: unknown) => onProblem('topics could not be recorded', error);
  const plugin = new TopicTreePlugin({ settings: settingsIn(store.journal), recorder, onFault });
  control.register(plugin);
  await plugin.started;
  return {
    payloadsChanged: () => void recorder.payloadsChanged().catch(onFault),
    close: () => recorder.close(),
  };
}

/** The topic settings in the journal. There are no other writers, so `onChange` never fires. */
function settingsIn(journal: Journal): TopicSettingsStore {
  const name = 'topic-tree';
  const [row] = journal.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', name);
  // Possibly written by an earlier version without some fields.
  let current = { ...DEFAULT_TOPIC_SETTINGS, ...(row && (JSON.parse(row.value) as Partial<TopicSettings>)) };
  return {
    get: () => current,
    put: async (settings) => {
      current = settings;
      journal.add('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', name, JSON.stringify(settings));
      await journal.commit();
    },
    onChange: () => () => {},
  };
}
