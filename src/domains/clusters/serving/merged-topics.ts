import type {
  FindTopics,
  LevelPage,
  ListLevels,
  ReadChanges,
  RecordedTopic,
  RecorderStatus,
  TopicChanges,
  TopicKind,
  TopicPage,
  TopicRequests,
  TopicResponses,
} from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { TopicSource } from '../../topic-tree/control/topic-sources.ts';
import { type ClusterNodes, failureText, type NodeEntry, withNodeName } from './cluster-nodes.ts';
import {
  mergedCounts,
  mergedLevels,
  mergedStatus,
  mergedTopic,
  mergedTopics,
  type NodeValue,
  partsOf,
  readCursor,
  sum,
  writeCursor,
} from './topic-merge.ts';

export interface MergedTopicsOptions {
  readonly nodes: ClusterNodes;
  readonly call: <T>(node: NodeEntry, request: (topics: TopicSource) => Promise<T>) => Promise<T>;
}

/** Page size per node while topics before an offset are skipped. */
const SKIPPED_PAGE = 10_000;
/** Maximum offset. Each skipped topic is read from every node. */
const MAX_OFFSET = 100_000;
/** Maximum number of topics per node that are read to count different topics. */
const MAX_COUNTED = 10_000;

type Request<Type extends keyof TopicRequests> = TopicRequests[Type];

/**
 * Serves the requests of a TopicRecorder for all nodes of a cluster, with at most one page per node in memory. Nodes
 * that fail are omitted, and `status` reports them. Subscriptions require that each reachable node can see its own.
 * Counts are sums; `totalCount` counts different topics if each node lists at most MAX_COUNTED. Errors: those of nodes,
 * and TOO_LARGE for an offset beyond MAX_OFFSET.
 */
export class MergedTopics {
  readonly #options: MergedTopicsOptions;

  constructor(options: MergedTopicsOptions) {
    this.#options = options;
  }

  async status(): Promise<RecorderStatus> {
    const { nodes, call } = this.#options;
    const { results, failures } = await nodes.callAll((node) =>
      call(node, (topics) => topics.status(node.broker.username)),
    );
    return mergedStatus(results, failureText(failures));
  }

  async find(request: FindTopics): Promise<TopicPage> {
    if (request.order !== undefined) throw unsorted();
    const { offset = 0, withCount = false, ...rest } = request;
    const totalCount = withCount ? await this.#count(rest) : null;
    if (rest.first === 0) return { topics: [], hasMore: (totalCount ?? 0) > 0, totalCount };
    const after = offset === 0 ? rest.after : await this.#afterSkipping(rest, offset);
    if (after === null) return { topics: [], hasMore: false, totalCount };
    const pages = await this.#each('find', { ...rest, after });
    return { ...mergedTopics(pages, rest.first), totalCount };
  }

  async levels(request: ListLevels): Promise<LevelPage> {
    return mergedLevels(await this.#each('levels', request), request.first);
  }

  async topic(request: Request<'topic'>): Promise<RecordedTopic | null> {
    return joined(await this.#each('topic', request));
  }

  /** Returns changed topics merged over all nodes. A topic has expired when no node lists it. */
  async changes({ since, ...request }: ReadChanges): Promise<TopicChanges> {
    const before = readCursor(since);
    const { nodes } = this.#options;
    const { results: perNode, failures } = await nodes.callAll((node) =>
      this.#call(node, 'changes', { ...request, since: before.get(node.nodeId) ?? null }),
    );
    refuseUnseen(request.kind, failures);
    const cursors = new Map(before);
    for (const { nodeId, value: changes } of perNode) cursors.set(nodeId, changes.cursor);
    // If nodes left or joined since the cursor, the changes are not continuous.
    const present = new Set(nodes.all().map(({ nodeId }) => nodeId));
    const isSameNodes =
      since === null ||
      ([...before.keys()].every((nodeId) => present.has(nodeId)) && perNode.every(({ nodeId }) => before.has(nodeId)));
    for (const nodeId of before.keys()) if (!present.has(nodeId)) cursors.delete(nodeId);
    const now = await this.#merged(request, perNode);
    return {
      cursor: writeCursor(cursors),
      isContinued: since !== null && isSameNodes && perNode.every(({ value: { isContinued } }) => isContinued),
      ...now,
      addedLeftOut: sum(perNode, ({ addedLeftOut }) => addedLeftOut),
      changedLeftOut: sum(perNode, ({ changedLeftOut }) => changedLeftOut),
      expiredLeftOut: sum(perNode, ({ expiredLeftOut }) => expiredLeftOut),
      counts: mergedCounts(partsOf(perNode, ({ counts }) => counts)),
    };
  }

  async #merged(
    { kind, withPayloads = true }: Omit<ReadChanges, 'since'>,
    perNode: readonly NodeValue<TopicChanges>[],
  ): Promise<Pick<TopicChanges, 'added' | 'changed' | 'expired'>> {
    const addedAt = new Map<string, number>();
    const names = new Set<string>();
    for (const { value: changes } of perNode) {
      for (const { topic } of changes.added) addedAt.set(topic, (addedAt.get(topic) ?? 0) + 1);
      for (const { topic } of [...changes.added, ...changes.changed]) names.add(topic);
      for (const topic of changes.expired) names.add(topic);
    }
    const topics = await Promise.all(
      Array.from(names, async (topic) => [topic, await this.topic({ kind, topic })] as const),
    );
    const added: RecordedTopic[] = [];
    const changed: RecordedTopic[] = [];
    const expired: string[] = [];
    for (const [topic, found] of topics) {
      const recorded = found === null || withPayloads ? found : { ...found, payload: null };
      if (recorded === null) expired.push(topic);
      else if ((addedAt.get(topic) ?? 0) >= (recorded.nodes?.length ?? 1)) added.push(recorded);
      else changed.push(recorded);
    }
    const byLastSeen = (one: RecordedTopic, other: RecordedTopic) => other.lastSeen - one.lastSeen;
    return { added: added.sort(byLastSeen), changed: changed.sort(byLastSeen), expired };
  }

  async #count(
    request: Omit<FindTopics, 'offset' | 'withCount' | 'after'> & { readonly after?: unknown },
  ): Promise<number> {
    const { after: _place, ...all } = request;
    const pages = await this.#each('find', { ...all, first: MAX_COUNTED, withCount: true, withPayloads: false });
    if (pages.some(({ value: { hasMore } }) => hasMore)) {
      return sum(pages, ({ totalCount }) => totalCount ?? 0);
    }
    return new Set(pages.flatMap(({ value: { topics } }) => topics.map(({ topic }) => topic))).size;
  }

  async #afterSkipping(request: Omit<FindTopics, 'offset'>, offset: number): Promise<string | null | undefined> {
    if (offset > MAX_OFFSET) {
      const reason = `In a cluster the offset is limited to ${MAX_OFFSET}: use the cursor of a page instead`;
      throw new ServiceError('TOO_LARGE', reason);
    }
    let { after } = request;
    for (let left = offset; left > 0; ) {
      const first = Math.min(left, SKIPPED_PAGE);
      const pages = await this.#each('find', { ...request, after, first, withPayloads: false });
      const { topics } = mergedTopics(pages, first);
      const last = topics.at(-1);
      if (last === undefined) return null;
      after = last.topic;
      left -= topics.length;
    }
    return after;
  }

  async #each<Type extends keyof TopicRequests>(
    type: Type,
    request: Request<Type>,
  ): Promise<readonly NodeValue<TopicResponses[Type]>[]> {
    const { results, failures } = await this.#options.nodes.callAll((node) => this.#call(node, type, request));
    if ('kind' in request) refuseUnseen(request.kind, failures);
    return results;
  }

  #call<Type extends keyof TopicRequests>(node: NodeEntry, type: Type, request: Request<Type>) {
    return this.#options.call(node, (topics) => topics.query(type, request));
  }
}

/** Throws if a node cannot see its subscriptions, because a partial list would look complete. */
function refuseUnseen(kind: TopicKind, failures: Parameters<typeof failureText>[0]): void {
  if (kind !== 'SUBSCRIBED') return;
  const unseen = failures.find(({ error: { code } }) => code === 'NOT_SUPPORTED_BY_BROKER');
  if (unseen !== undefined) throw withNodeName(unseen);
}

function unsorted(): ServiceError {
  const reason = 'The topics of all nodes are only sorted by topic, ascending: sort those of one node (`nodeId`)';
  return new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
}

function joined(topics: readonly NodeValue<RecordedTopic | null>[]): RecordedTopic | null {
  const listed = partsOf(topics, (topic) => topic);
  return listed.length === 0 ? null : mergedTopic(listed);
}
