import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { type ControlPlugin, ControlRefusal, type PluginFactory } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import { TOPIC_API } from '../../topic-tree/control/topic-control.ts';
import { QUESTION_COMMANDS, readQuestion } from '../../topic-tree/control/topic-questions.ts';
import { SETTING_KEYS, settingFields, WIRE_NAMES } from '../../topic-tree/control/topic-setting-issues.ts';
import { throwIfPartial } from './cluster-nodes.ts';
import { MergedTopics, type MergedTopicsOptions } from './merged-topics.ts';

/**
 * `cedalo/topictree` for a cluster whose nodes have their own messages: one tree of the topics of all nodes. Only
 * callers in this process use it. Settings are applied to all nodes. If the settings of nodes differ, those of the
 * first node are returned.
 */
export const mergedTopicsPlugin = (options: MergedTopicsOptions): PluginFactory => ({
  api: TOPIC_API,
  instead: true,
  create: async () => new MergedTopicsPlugin(options),
});

class MergedTopicsPlugin implements ControlPlugin {
  readonly api = TOPIC_API;
  readonly #options: MergedTopicsOptions;
  readonly #topics: MergedTopics;

  constructor(options: MergedTopicsOptions) {
    this.#options = options;
    this.#topics = new MergedTopics(options);
  }

  execute(command: ControlCommand): unknown {
    const topics = this.#topics;
    return runCommandOf(
      {
        [QUESTION_COMMANDS.status.toLowerCase()]: () => topics.status(),
        [QUESTION_COMMANDS.find.toLowerCase()]: () => topics.find(readQuestion.find(command)),
        [QUESTION_COMMANDS.levels.toLowerCase()]: () => topics.levels(readQuestion.levels(command)),
        [QUESTION_COMMANDS.topic.toLowerCase()]: () => topics.topic(readQuestion.topic(command)),
        [QUESTION_COMMANDS.changes.toLowerCase()]: () => topics.changes(readQuestion.changes(command)),
        getrecording: () => this.#settings(),
        setrecording: () => this.#change(command),
      },
      command,
    );
  }

  close(): void {}

  async #settings(): Promise<object> {
    const { nodes, call } = this.#options;
    const { results } = await nodes.callAll((node) => call(node, (topics) => topics.settings()));
    const [first] = results;
    if (first === undefined) throw new ControlRefusal('No node is reachable');
    return settingFields(first.value);
  }

  /** Changes the settings on each node. Errors: that of the first failed node, with `info.nodes` for all nodes. */
  async #change(command: ControlCommand): Promise<void> {
    const { nodes, call } = this.#options;
    const change = Object.fromEntries(
      SETTING_KEYS.flatMap((key) => {
        const value = command[WIRE_NAMES[key]];
        return value === undefined ? [] : [[key, value]];
      }),
    );
    throwIfPartial(await nodes.callAll((node) => call(node, (topics) => topics.updateSettings(change))));
  }
}
