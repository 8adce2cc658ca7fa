import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { type ControlPlugin, ControlRefusal, type PluginFactory } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { TopicAsker } from '../../topic-tree/control/topic-askers.ts';
import { TOPIC_API } from '../../topic-tree/control/topic-control.ts';
import { QUESTION_COMMANDS, readQuestion } from '../../topic-tree/control/topic-questions.ts';
import { SETTING_KEYS, settingFields, WIRE_NAMES } from '../../topic-tree/control/topic-setting-issues.ts';
import { MergedTopics } from './merged-topics.ts';
import { refusePartly, type ServingNode, type ServingNodes } from './serving-nodes.ts';

/** Asks whoever records the topics of a node. */
export type AskTopics = <T>(node: ServingNode, question: (topics: TopicAsker) => Promise<T>) => Promise<T>;

export interface MergedTopicsOptions {
  readonly nodes: ServingNodes;
  readonly ask: AskTopics;
}

/**
 * `cedalo/topictree` for a cluster whose nodes have messages of their own, by the commands that callers in this process give: the topics of
 * all nodes in one tree. Settings are those of all nodes; where they are not alike, those of the first one are told.
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
    const { nodes, ask } = this.#options;
    const { answers } = await nodes.each((node) => ask(node, (topics) => topics.settings()));
    const [first] = answers;
    if (first === undefined) throw new ControlRefusal('No node could be asked');
    return settingFields(first.answer);
  }

  /** On each node; what fails on one is done on the others. Errors: of the first where it failed, with `info.nodes` of all. */
  async #change(command: ControlCommand): Promise<void> {
    const { nodes, ask } = this.#options;
    const change = Object.fromEntries(
      SETTING_KEYS.flatMap((key) => {
        const value = command[WIRE_NAMES[key]];
        return value === undefined ? [] : [[key, value]];
      }),
    );
    refusePartly(await nodes.each((node) => ask(node, (topics) => topics.updateSettings(change))));
  }
}
