import { TopicTreePlugin } from '../../../domains/topic-tree/control/topic-tree-plugin.ts';
import { PayloadRecorder } from '../../../domains/topic-tree/hosting/topic-payloads.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
  type TopicSettingsStore,
} from '../../../domains/topic-tree/model/topic-settings.ts';
import type { ControlServer } from '../control/control-server.ts';
import type { Journal } from '../store/journal.ts';
import { EmbeddedTopicRecorder, type EmbeddedTopicRecorderOptions } from './embedded-topic-recorder.ts';

interface EmbeddedTopicsOptions extends EmbeddedTopicRecorderOptions {
  readonly control: ControlServer;
  /** Whether payloads are stored. Call `payloadsChanged` after a change. */
  readonly arePayloadsStored: () => boolean;
}

/** Registers `cedalo/topictree`. If recording is always on, it has started when this function resolves. */
export async function startTopics(options: EmbeddedTopicsOptions) {
  const { store, control, arePayloadsStored, onProblem } = options;
  const recorder = new PayloadRecorder(new EmbeddedTopicRecorder(options), arePayloadsStored);
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
  // Possibly written by an earlier version without some fields.
  let current = { ...DEFAULT_TOPIC_SETTINGS, ...journal.setting<Partial<TopicSettings>>(name) };
  return {
    get: () => current,
    put: async (settings) => {
      current = settings;
      journal.putSetting(name, settings);
      await journal.commit();
    },
    onChange: () => () => {},
  };
}
