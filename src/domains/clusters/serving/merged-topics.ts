import { ServiceError } from '../../../platform/errors.ts';
import type {
  AskChanges,
  FindTopics,
  LevelPage,
  ListLevels,
  RecordedTopic,
  RecorderStatus,
  TopicChanges,
  TopicKind,
  TopicPage,
  TopicQuestions,
} from '../../topic-tree/model/topic-recorder.ts';
import type { MergedTopicsOptions } from './merged-topics-plugin.ts';
import { mergedCounts, mergedLevels, mergedStatus, mergedTopic, mergedTopics, type OfNode } from './merging-topics.ts';
import { ofNode, type ServingNode, wordsOf } from './serving-nodes.ts';

/** Topics of a node in one page while those before an offset are passed over. */
const SKIPPED_PAGE = 10_000;
/** Topics that may be passed over for an offset: each is read from every node. */
const MAX_OFFSET = 100_000;
/** Lists of up to so many topics at each node are counted by reading them. */
const MAX_COUNTED = 10_000;

type Question<Type extends keyof TopicQuestions> = TopicQuestions[Type]['question'];

/**
 * The questions of a TopicRecorder about all nodes of a cluster, with a page of each node in memory at most. A node that cannot be asked is
 * left out, and `status` says so; subscriptions are told only where each node that can be asked sees its own.
 *
 * Counts are as merging-topics.ts says, but `totalCount` of lists: of different topics as far as each node lists MAX_COUNTED at most, else a
 * sum. Errors: those of nodes, TOO_LARGE for an offset beyond MAX_OFFSET.
 */
export class MergedTopics {
  readonly #options: MergedTopicsOptions;

  constructor(options: MergedTopicsOptions) {
    this.#options = options;
  }

  async status(): Promise<RecorderStatus> {
    const { nodes, ask } = this.#options;
    const { answers, failures } = await nodes.each((node) =>
      ask(node, (topics) => topics.status(node.broker.username)),
    );
    return mergedStatus(
      answers.map(({ node: { nodeId }, answer: told }) => ({ nodeId, told })),
      wordsOf(failures),
    );
  }

  async find(question: FindTopics): Promise<TopicPage> {
    const { offset = 0, withCount = false, ...rest } = question;
    const totalCount = withCount ? await this.#count(rest) : null;
    if (rest.first === 0) return { topics: [], hasMore: (totalCount ?? 0) > 0, totalCount };
    const after = offset === 0 ? rest.after : await this.#afterSkipping(rest, offset);
    if (after === null) return { topics: [], hasMore: false, totalCount };
    const pages = await this.#each('find', { ...rest, after });
    return { ...mergedTopics(pages, rest.first), totalCount };
  }

  async levels(question: ListLevels): Promise<LevelPage> {
    return mergedLevels(await this.#each('levels', question), question.first);
  }

  async topic(question: Question<'topic'>): Promise<RecordedTopic | null> {
    return joined(await this.#each('topic', question));
  }

  /** A topic that changed at one node is told as it is at all of them, and has expired when no node lists it. */
  async changes({ since, ...question }: AskChanges): Promise<TopicChanges> {
    const before = readCursor(since);
    const { nodes } = this.#options;
    const { answers, failures } = await nodes.each((node) =>
      this.#ask(node, 'changes', { ...question, since: before.get(node.nodeId) ?? null }),
    );
    refuseUnseen(question.kind, failures);
    const told = answers.map(({ node: { nodeId }, answer }) => ({ nodeId, told: answer }));
    const cursors = new Map(before);
    for (const { nodeId, told: changes } of told) cursors.set(nodeId, changes.cursor);
    // Of a node that has left nothing is told any more, and of one that came all is new.
    const present = new Set(nodes.all().map(({ nodeId }) => nodeId));
    const isSameNodes =
      since === null ||
      ([...before.keys()].every((nodeId) => present.has(nodeId)) && told.every(({ nodeId }) => before.has(nodeId)));
    for (const nodeId of before.keys()) if (!present.has(nodeId)) cursors.delete(nodeId);
    const now = await this.#asTheyAre(question, told);
    const left = (name: 'addedLeftOut' | 'changedLeftOut' | 'expiredLeftOut') =>
      told.reduce((total, { told: changes }) => total + changes[name], 0);
    return {
      cursor: writeCursor(cursors),
      isContinued: since !== null && isSameNodes && told.every(({ told: { isContinued } }) => isContinued),
      ...now,
      addedLeftOut: left('addedLeftOut'),
      changedLeftOut: left('changedLeftOut'),
      expiredLeftOut: left('expiredLeftOut'),
      counts: mergedCounts(told.map(({ nodeId, told: { counts } }) => ({ nodeId, told: counts }))),
    };
  }

  /** What each topic that changed somewhere is at all nodes: other nodes are asked for it, too. */
  async #asTheyAre(
    { kind, withPayloads = true }: Omit<AskChanges, 'since'>,
    told: readonly OfNode<TopicChanges>[],
  ): Promise<Pick<TopicChanges, 'added' | 'changed' | 'expired'>> {
    const addedAt = new Map<string, number>();
    const names = new Set<string>();
    for (const { told: changes } of told) {
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
      // New at every node that lists it.
      else if ((addedAt.get(topic) ?? 0) >= (recorded.nodes?.length ?? 1)) added.push(recorded);
      else changed.push(recorded);
    }
    const byUse = (one: RecordedTopic, other: RecordedTopic) => other.lastSeen - one.lastSeen;
    return { added: added.sort(byUse), changed: changed.sort(byUse), expired };
  }

  async #count(
    question: Omit<FindTopics, 'offset' | 'withCount' | 'after'> & { readonly after?: unknown },
  ): Promise<number> {
    const { after: _place, ...all } = question;
    const pages = await this.#each('find', { ...all, first: MAX_COUNTED, withCount: true, withPayloads: false });
    if (pages.some(({ told: { hasMore } }) => hasMore)) {
      return pages.reduce((total, { told: { totalCount } }) => total + (totalCount ?? 0), 0);
    }
    return new Set(pages.flatMap(({ told: { topics } }) => topics.map(({ topic }) => topic))).size;
  }

  /** The last topic that is passed over; null: there are no more. */
  async #afterSkipping(question: Omit<FindTopics, 'offset'>, offset: number): Promise<string | null | undefined> {
    if (offset > MAX_OFFSET) {
      throw new ServiceError(
        'TOO_LARGE',
        `In a cluster at most ${MAX_OFFSET} topics can be passed over: go on from the last one of a page instead`,
      );
    }
    let { after } = question;
    for (let left = offset; left > 0; ) {
      const first = Math.min(left, SKIPPED_PAGE);
      const pages = await this.#each('find', { ...question, after, first, withPayloads: false });
      const { topics } = mergedTopics(pages, first);
      const last = topics.at(-1);
      if (last === undefined) return null;
      after = last.topic;
      left -= topics.length;
    }
    return after;
  }

  async #each<Type extends keyof TopicQuestions>(
    type: Type,
    question: Question<Type>,
  ): Promise<OfNode<TopicQuestions[Type]['answer']>[]> {
    const { answers, failures } = await this.#options.nodes.each((node) => this.#ask(node, type, question));
    if ('kind' in question) refuseUnseen(question.kind, failures);
    return answers.map(({ node: { nodeId }, answer }) => ({ nodeId, told: answer }));
  }

  #ask<Type extends keyof TopicQuestions>(
    node: ServingNode,
    type: Type,
    question: Question<Type>,
  ): Promise<TopicQuestions[Type]['answer']> {
    return this.#options.ask(node, (topics) => topics.ask(type, question));
  }
}

/** A part of the subscriptions would look like all of them. Errors: NOT_SUPPORTED_BY_BROKER. */
function refuseUnseen(kind: TopicKind, failures: Parameters<typeof wordsOf>[0]): void {
  if (kind !== 'SUBSCRIBED') return;
  const unseen = failures.find(({ error: { code } }) => code === 'NOT_SUPPORTED_BY_BROKER');
  if (unseen !== undefined) throw ofNode(unseen);
}

function joined(topics: readonly OfNode<RecordedTopic | null>[]): RecordedTopic | null {
  const listed = topics.flatMap(({ nodeId, told }) => (told === null ? [] : [{ nodeId, told }]));
  return listed.length === 0 ? null : mergedTopic(listed);
}

/** By node; one that is not ours is as none. */
function readCursor(cursor: string | null): ReadonlyMap<number, string> {
  try {
    const entries: unknown = cursor === null ? [] : JSON.parse(cursor);
    return new Map(Array.isArray(entries) ? (entries as [number, string][]) : []);
  } catch {
    return new Map();
  }
}

const writeCursor = (cursors: ReadonlyMap<number, string>): string => JSON.stringify([...cursors]);
