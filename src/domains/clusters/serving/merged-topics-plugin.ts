import { parseRequest, REQUEST_COMMANDS } from '../../../data-plane/topic-tree/control/request-parser.ts';
import { TOPIC_API } from '../../../data-plane/topic-tree/control/topic-control.ts';
import {
  SETTING_KEYS,
  settingFields,
  WIRE_NAMES,
} from '../../../data-plane/topic-tree/control/topic-setting-issues.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { ControlRefusal, type PluginFactory } from '../../../protocol/control/plugin.ts';
import { throwIfPartial } from './cluster-nodes.ts';
import { clusterPlugin } from './cluster-plugin.ts';
import { MergedTopics, type MergedTopicsOptions } from './merged-topics.ts';

/**
 * `cedalo/topictree` for a cluster whose nodes have their own messages: one tree of the topics of all nodes. Only
 * callers in this process use it. Settings are applied to all nodes. If the settings of nodes differ, those of the
 * first node are returned.
 */
export const mergedTopicsPlugin = (options: MergedTopicsOptions): PluginFactory => {
  const topics = new MergedTopics(options);
  return clusterPlugin(TOPIC_API, () => ({
    commands: {
      [REQUEST_COMMANDS.status.toLowerCase()]: () => topics.status(),
      [REQUEST_COMMANDS.find.toLowerCase()]: (command) => topics.find(parseRequest('find', command)),
      [REQUEST_COMMANDS.levels.toLowerCase()]: (command) => topics.levels(parseRequest('levels', command)),
      [REQUEST_COMMANDS.topic.toLowerCase()]: (command) => topics.topic(parseRequest('topic', command)),
      [REQUEST_COMMANDS.changes.toLowerCase()]: (command) => topics.changes(parseRequest('changes', command)),
      getrecording: () => readSettings(options),
      setrecording: (command) => changeSettings(options, command),
    },
  }));
};

async function readSettings({ nodes, call }: MergedTopicsOptions): Promise<object> {
  const { results } = await nodes.callAll((node) => call(node, (topics) => topics.settings()));
  const [first] = results;
  if (first === undefined) throw new ControlRefusal('No node is reachable');
  return settingFields(first.value);
}

async function changeSettings({ nodes, call }: MergedTopicsOptions, command: ControlCommand): Promise<void> {
  const change = Object.fromEntries(
    SETTING_KEYS.flatMap((key) => {
      const value = command[WIRE_NAMES[key]];
      return value === undefined ? [] : [[key, value]];
    }),
  );
  throwIfPartial(await nodes.callAll((node) => call(node, (topics) => topics.updateSettings(change))));
}
