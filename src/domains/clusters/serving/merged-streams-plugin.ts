import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import {
  type ControlCaller,
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
} from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import {
  clearStreamMessages,
  deleteStream,
  getStreamMessageCount,
  STREAM_API,
  stopStreamReplay,
} from '../../streams/control/stream-control.ts';
import { STREAM_LICENSE } from '../../streams/control/stream-license.ts';
import {
  boundsOf,
  differencesBetween,
  givenFields,
  replayOf,
  streamObject,
} from '../../streams/control/stream-wire.ts';
import { createLoopFree, modifyLoopFree, replayLoopFree } from '../../streams/loop-free-writes.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../../streams/model/stream-definition.ts';
import type { ReplayRequest } from '../../streams/model/stream-replay.ts';
import { inOrder } from './in-order.ts';
import { type FoundStream, MergedStreams } from './merged-streams.ts';
import { type AskNode, ofNode, refusePartly, type ServingNode, type ServingNodes } from './serving-nodes.ts';

export interface MergedStreamsOptions {
  readonly nodes: ServingNodes;
  /** Asks whoever runs the streams of a node. */
  readonly ask: AskNode;
  /** One change of the cluster's streams at a time, over all processes. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly timeoutMs: number;
}

/**
 * `stream-processing` for a cluster whose nodes have streams and messages of their own, by the commands that callers in this process give.
 *
 * A stream of the cluster is on all of its nodes, and each of them runs and stores it for the messages that come there. Writes go to one
 * node after the other, in the order of their numbers. Nothing is done anywhere where the first of them refuses; where some did it and
 * another one did not, the command fails with what became of each in `info.nodes`. Nothing is done later by itself: the list tells of
 * each stream on which nodes it is missing or otherwise, and a node that could not be asked; the next change of the stream (also one that
 * changes nothing), or creating the same again, brings it to all nodes that are reached. What was deleted while a node was away is in the
 * list as long as that node has it.
 *
 * Messages are cleared, counted and replayed on each node that stores some, which publishes its own. Refusals: those of StreamPlugin, and
 * of nodes that could not be asked.
 */
export const mergedStreamsPlugin = (options: MergedStreamsOptions): PluginFactory => ({
  api: STREAM_API,
  instead: true,
  create: async () => new MergedStreamsPlugin(options),
});

class MergedStreamsPlugin implements ControlPlugin {
  readonly api = STREAM_API;
  readonly #options: MergedStreamsOptions;
  readonly #streams: MergedStreams;

  constructor(options: MergedStreamsOptions) {
    this.#options = options;
    this.#streams = new MergedStreams(options);
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        createstream: () => this.#changed(() => this.#create(command)),
        modifystream: () => this.#changed(() => this.#modify(command, givenFields(command))),
        enablestream: () => this.#changed(() => this.#modify(command, { active: true })),
        disablestream: () => this.#changed(() => this.#modify(command, { active: false })),
        deletestream: () => this.#changed(() => this.#delete(command)),
        getstream: () => this.#get(command),
        liststreams: () => this.#list(command),
        getstreammessagecount: () => this.#count(command),
        clearstreammessages: () => this.#changed(() => this.#clear(command)),
        replaystream: () => this.#changed(() => this.#replay(command)),
        stopstreamreplay: () => this.#changed(() => this.#stopReplay(command)),
        getlicense: () => STREAM_LICENSE,
      },
      command,
    );
  }

  close(): void {
    this.#streams.forget();
  }

  async #changed(work: () => Promise<void>): Promise<void> {
    const { inTurn, timeoutMs } = this.#options;
    const until = performance.now() + timeoutMs;
    try {
      await inTurn(async () => {
        // Whoever asked for it was told that there is no answer.
        if (performance.now() > until) throw new ServiceError('BROKER_TIMEOUT', 'Earlier changes took too long');
        await work();
      });
    } finally {
      this.#streams.forget();
    }
  }

  async #list(command: ControlCommand): Promise<object> {
    const { verbose, count, offset } = pageOf(command);
    const { streams, problem } = await this.#streams.all({ isContinued: offset > 0 });
    const page = streams.slice(offset, offset + count);
    return {
      totalCount: streams.length,
      streams: page.map((entry) => (verbose ? streamObject(entry) : entry.definition.name)),
      ...(problem === null ? {} : { problem }),
    };
  }

  async #get(command: ControlCommand): Promise<object> {
    return { stream: streamObject(this.#streams.merged(await this.#there(command))) };
  }

  /** Where some nodes have it as it is wanted, and others lack it, an attempt before came only so far. */
  async #create(command: ControlCommand): Promise<void> {
    const name = requiredText(command, 'streamname');
    // What cannot be one is refused by the first node.
    const wanted = { ...DEFAULT_DEFINITION, ...givenFields(command), name } as StreamDefinition;
    const { present, absent, failures, unable } = await this.#streams.find(name);
    if (unable[0] !== undefined) throw ofNode(unable[0]);
    const isOther = present.some(({ told }) => differencesBetween(told.definition, wanted).length > 0);
    if (isOther || (present.length > 0 && absent.length + failures.length === 0)) {
      throw new ControlRefusal('Stream already exists');
    }
    const { answers, failures: more } = await this.#inOrder(absent, (node, controls) =>
      createLoopFree(node.broker, controls, wanted),
    );
    refusePartly({
      answers: [...present.map(({ node }) => ({ node, answer: undefined })), ...answers],
      failures: [...failures, ...more],
    });
  }

  /** It is the same on all nodes afterwards, also where it was otherwise or not at all. */
  async #modify(command: ControlCommand, changes: ReturnType<typeof givenFields>): Promise<void> {
    const { name, present, absent, failures } = await this.#there(command);
    const base = present[0]?.told.definition;
    const wanted = { ...base, ...changes, name } as StreamDefinition;
    const { name: _name, ...whole } = wanted;
    const results = await this.#inOrder(
      sorted([...present.map(({ node }) => node), ...absent]),
      async (node, controls) => {
        const known = present.find((one) => one.node === node)?.told.definition;
        if (known === undefined) return createLoopFree(node.broker, controls, wanted);
        const isAlike = base !== undefined && differencesBetween(known, base).length === 0;
        const given = isAlike ? (changes as Partial<typeof whole>) : whole;
        if (Object.keys(given).length > 0) await modifyLoopFree(node.broker, controls, name, given);
      },
    );
    refusePartly({ ...results, failures: [...failures, ...results.failures] });
  }

  async #delete(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#there(command);
    await this.#onEach(found, found.present, (_node, controls) => deleteStream(controls, name));
  }

  async #count(command: ControlCommand): Promise<object> {
    const { name, ...found } = await this.#there(command);
    const { nodes, ask } = this.#options;
    const places = storing(found).map(({ node }) => node);
    const { answers, failures } = await nodes.each(
      (node) => ask(node, (controls) => getStreamMessageCount(controls, name)),
      places,
    );
    refuseUnknown([...found.failures, ...failures]);
    return { streamname: name, count: answers.reduce((sum, { answer }) => sum + answer, 0) };
  }

  async #clear(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#there(command);
    const bounds = boundsOf(command);
    await this.#onEach(found, storing(found), (_node, controls) => clearStreamMessages(controls, name, bounds));
  }

  async #replay(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#there(command);
    const busy = found.present.find(({ told: { replaying } }) => replaying);
    if (busy !== undefined) {
      const { nodeId, broker } = busy.node;
      throw new ControlRefusal(`A replay of this stream is running on node ${nodeId} ("${broker.name}")`, {
        code: 'IN_USE',
        info: { nodeId, brokerId: broker.id },
      });
    }
    // As with a definition, the nodes check it.
    const request = replayOf(command) as ReplayRequest;
    await this.#onEach(found, storing(found), (node, controls) => replayLoopFree(node.broker, controls, name, request));
  }

  async #stopReplay(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#there(command);
    await this.#onEach(found, found.present, (_node, controls) => stopStreamReplay(controls, name));
  }

  /** Errors: ControlRefusal (no node has it), those of a node that could not be asked and may have it. */
  async #there(command: ControlCommand): Promise<FoundStream> {
    const name = requiredText(command, 'streamname');
    const found = await this.#streams.find(name);
    if (found.present.length > 0) return found;
    const [unasked] = found.failures;
    if (unasked === undefined) throw new ControlRefusal('Stream not found');
    const { code, message, info } = ofNode(unasked);
    throw new ServiceError(code, `No other node has "${name}", and this one could not be asked: ${message}`, {
      ...(info === undefined ? {} : { info }),
    });
  }

  async #onEach(
    { failures }: Pick<FoundStream, 'failures'>,
    places: FoundStream['present'],
    work: (node: ServingNode, controls: ControlCaller) => Promise<void>,
  ): Promise<void> {
    const results = await this.#inOrder(
      places.map(({ node }) => node),
      work,
    );
    refusePartly({ ...results, failures: [...failures, ...results.failures] });
  }

  #inOrder(nodes: readonly ServingNode[], work: (node: ServingNode, controls: ControlCaller) => Promise<void>) {
    const { ask, timeoutMs } = this.#options;
    return inOrder(nodes, timeoutMs, (node) => ask(node, (controls) => work(node, controls)));
  }
}

const sorted = (nodes: readonly ServingNode[]) => nodes.toSorted((one, other) => one.nodeId - other.nodeId);

/** Nodes that have messages of it, or take some in. Errors: ControlRefusal (none does). */
function storing({ present }: Pick<FoundStream, 'present'>): FoundStream['present'] {
  const places = present.filter(
    ({ told: { definition, report } }) => definition.persist || (report?.storage.messages ?? 0) > 0,
  );
  if (places.length === 0) throw new ControlRefusal('Persistence not configured for this stream');
  return places;
}

/** A part of them would look like all. */
function refuseUnknown([first]: FoundStream['failures']): void {
  if (first !== undefined) throw ofNode(first);
}
