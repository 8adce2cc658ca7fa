import {
  clearStreamMessages,
  commandStream,
  getStreamMessageCount,
  STREAM_API,
} from '../../../data-plane/streams/control/stream-control.ts';
import {
  boundsOf,
  differencesBetween,
  givenFields,
  replayOf,
  STREAM_LICENSE,
  streamObject,
} from '../../../data-plane/streams/control/stream-wire.ts';
import { DEFAULT_DEFINITION, type StreamDefinition } from '../../../data-plane/streams/model/stream-definition.ts';
import type { ReplayRequest } from '../../../data-plane/streams/model/stream-replay.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { type ControlCaller, ControlRefusal, type PluginFactory } from '../../../protocol/control/plugin.ts';
import { pageOf, requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { createLoopFree, modifyLoopFree, replayLoopFree } from '../../streams/loop-check.ts';
import {
  type CallNode,
  type ClusterNodes,
  type NodeEntry,
  throwIfPartial,
  unknownElsewhere,
  withNodeName,
} from './cluster-nodes.ts';
import { type ClusterCommands, clusterPlugin } from './cluster-plugin.ts';
import { type FoundStream, MergedStreams } from './merged-streams.ts';

interface MergedStreamsOptions {
  readonly nodes: ClusterNodes;
  readonly call: CallNode;
  readonly runExclusive: <T>(work: () => Promise<T>) => Promise<T>;
  readonly timeoutMs: number;
}

/**
 * `stream-processing` for a cluster whose nodes have their own streams and messages. Only callers in this process use
 * it.
 *
 * A stream of the cluster exists on all nodes. Writes go to one node after the other, sorted by `nodeId`. If the first
 * node refuses, nothing is changed. If a later node fails, the command fails, and `info.nodes` lists the result of each
 * node. Nothing is repaired automatically: the list reports nodes that lack a stream, differ, or are not reachable, and
 * the next change of the stream, or creating it again, applies it to all reachable nodes. A stream that was deleted
 * while a node was away stays in the list as long as that node has it. Errors: those of StreamPlugin and of nodes.
 */
export const mergedStreamsPlugin = (options: MergedStreamsOptions): PluginFactory =>
  clusterPlugin(STREAM_API, () => new MergedStreamsPlugin(options));

class MergedStreamsPlugin implements ClusterCommands {
  readonly #options: MergedStreamsOptions;
  readonly #streams: MergedStreams;

  constructor(options: MergedStreamsOptions) {
    this.#options = options;
    this.#streams = new MergedStreams(options);
  }

  readonly commands: ClusterCommands['commands'] = {
    createstream: (command) => this.#change(() => this.#create(command)),
    modifystream: (command) => this.#change(() => this.#modify(command, givenFields(command))),
    enablestream: (command) => this.#change(() => this.#modify(command, { active: true })),
    disablestream: (command) => this.#change(() => this.#modify(command, { active: false })),
    deletestream: (command) =>
      this.#changePresent(command, (_node, controls, name) => commandStream(controls, 'deleteStream', name)),
    getstream: (command) => this.#get(command),
    liststreams: (command) => this.#list(command),
    getstreammessagecount: (command) => this.#count(command),
    clearstreammessages: (command) => this.#change(() => this.#clear(command)),
    replaystream: (command) => this.#change(() => this.#replay(command)),
    stopstreamreplay: (command) =>
      this.#changePresent(command, (_node, controls, name) => commandStream(controls, 'stopStreamReplay', name)),
    getlicense: () => STREAM_LICENSE,
  };

  readonly close = () => this.#streams.invalidate();

  async #change(work: () => Promise<void>): Promise<void> {
    const { runExclusive, timeoutMs } = this.#options;
    const until = performance.now() + timeoutMs;
    try {
      await runExclusive(async () => {
        // The caller has already received a timeout.
        if (performance.now() > until) throw new ServiceError('BROKER_TIMEOUT', 'Earlier changes took too long');
        await work();
      });
    } finally {
      this.#streams.invalidate();
    }
  }

  async #list(command: ControlCommand): Promise<object> {
    const { verbose, count, offset } = pageOf(command);
    const { streams, problem } = await this.#streams.list({ isContinued: offset > 0 });
    const page = streams.slice(offset, offset + count);
    return {
      totalCount: streams.length,
      streams: page.map((entry) => (verbose ? streamObject(entry) : entry.definition.name)),
      ...(problem === null ? {} : { problem }),
    };
  }

  async #get(command: ControlCommand): Promise<object> {
    return { stream: streamObject(this.#streams.merged(await this.#findRequired(command))) };
  }

  /** If some nodes have an equal stream and others lack it, an earlier attempt was incomplete and is completed. */
  async #create(command: ControlCommand): Promise<void> {
    const name = requiredText(command, 'streamname');
    // The first node refuses invalid definitions.
    const wanted = { ...DEFAULT_DEFINITION, ...givenFields(command), name } as StreamDefinition;
    const { present, absent, failures, unsupported } = await this.#streams.find(name);
    if (unsupported[0] !== undefined) throw withNodeName(unsupported[0]);
    const isOther = present.some(({ value }) => differencesBetween(value.definition, wanted).length > 0);
    if (isOther || (present.length > 0 && absent.length + failures.length === 0)) {
      throw new ControlRefusal('Stream already exists');
    }
    const { results, failures: more } = await this.#callInSequence(absent, (node, controls) =>
      createLoopFree(node.broker, controls, wanted),
    );
    throwIfPartial({ results: [...present, ...results], failures: [...failures, ...more] });
  }

  async #modify(command: ControlCommand, changes: ReturnType<typeof givenFields>): Promise<void> {
    const { name, present, absent, failures } = await this.#findRequired(command);
    const base = present[0]?.value.definition;
    const wanted = { ...base, ...changes, name } as StreamDefinition;
    const { name: _name, ...whole } = wanted;
    const results = await this.#callInSequence(
      sorted([...present.map(({ node }) => node), ...absent]),
      async (node, controls) => {
        const known = present.find((one) => one.node === node)?.value.definition;
        if (known === undefined) return createLoopFree(node.broker, controls, wanted);
        const isAlike = base !== undefined && differencesBetween(known, base).length === 0;
        const given = isAlike ? (changes as Partial<typeof whole>) : whole;
        if (Object.keys(given).length > 0) await modifyLoopFree(node.broker, controls, name, given);
      },
    );
    throwIfPartial({ ...results, failures: [...failures, ...results.failures] });
  }

  #changePresent(
    command: ControlCommand,
    work: (node: NodeEntry, controls: ControlCaller, name: string) => Promise<void>,
  ): Promise<void> {
    return this.#change(async () => {
      const { name, ...found } = await this.#findRequired(command);
      await this.#onEach(found, found.present, (node, controls) => work(node, controls, name));
    });
  }

  async #count(command: ControlCommand): Promise<object> {
    const { name, ...found } = await this.#findRequired(command);
    const { nodes, call } = this.#options;
    const entries = storingNodes(found).map(({ node }) => node);
    const { results, failures } = await nodes.callAll(
      (node) => call(node, (controls) => getStreamMessageCount(controls, name)),
      entries,
    );
    // A partial sum would look complete.
    const [failure] = [...found.failures, ...failures];
    if (failure !== undefined) throw withNodeName(failure);
    return { streamname: name, count: results.reduce((sum, { value }) => sum + value, 0) };
  }

  async #clear(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#findRequired(command);
    const bounds = boundsOf(command);
    await this.#onEach(found, storingNodes(found), (_node, controls) => clearStreamMessages(controls, name, bounds));
  }

  async #replay(command: ControlCommand): Promise<void> {
    const { name, ...found } = await this.#findRequired(command);
    const busy = found.present.find(({ value: { replaying } }) => replaying);
    if (busy !== undefined) {
      const { nodeId, broker } = busy.node;
      throw new ControlRefusal(`A replay of this stream is running on node ${nodeId} ("${broker.name}")`, {
        code: 'IN_USE',
        info: { nodeId, brokerId: broker.id },
      });
    }
    // The nodes validate the request.
    const request = replayOf(command) as ReplayRequest;
    await this.#onEach(found, storingNodes(found), (node, controls) =>
      replayLoopFree(node.broker, controls, name, request),
    );
  }

  /** Finds the stream. Errors: ControlRefusal (no node has it), and those of a failed node that may have it. */
  async #findRequired(command: ControlCommand): Promise<FoundStream> {
    const name = requiredText(command, 'streamname');
    const found = await this.#streams.find(name);
    if (found.present.length > 0) return found;
    const [failedOn] = found.failures;
    if (failedOn === undefined) throw new ControlRefusal('Stream not found');
    throw unknownElsewhere(failedOn, name);
  }

  async #onEach(
    { failures }: Pick<FoundStream, 'failures'>,
    entries: FoundStream['present'],
    work: (node: NodeEntry, controls: ControlCaller) => Promise<void>,
  ): Promise<void> {
    const results = await this.#callInSequence(
      entries.map(({ node }) => node),
      work,
    );
    throwIfPartial({ ...results, failures: [...failures, ...results.failures] });
  }

  #callInSequence(nodes: readonly NodeEntry[], work: (node: NodeEntry, controls: ControlCaller) => Promise<void>) {
    const { call, nodes: all } = this.#options;
    return all.callInSequence(nodes, (node) => call(node, (controls) => work(node, controls)));
  }
}

const sorted = (nodes: readonly NodeEntry[]) => nodes.toSorted((one, other) => one.nodeId - other.nodeId);

/** Returns the nodes that store messages of the stream. Errors: ControlRefusal (none does). */
function storingNodes({ present }: Pick<FoundStream, 'present'>): FoundStream['present'] {
  const entries = present.filter(
    ({ value: { definition, report } }) => definition.persist || (report?.storage.messages ?? 0) > 0,
  );
  if (entries.length === 0) throw new ControlRefusal('Persistence not configured for this stream');
  return entries;
}
