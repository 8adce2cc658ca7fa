import { TOPIC_API } from '../../data-plane/topic-tree/control/topic-control.ts';
import type {
  TopicKind,
  TopicOrder,
  TopicRequests,
  TopicResponses,
} from '../../data-plane/topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../data-plane/topic-tree/model/topic-settings.ts';
import { topicCursor } from '../../data-plane/topic-tree/tree/topic-order.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { roleIn, roleIncludes, type Viewer } from '../../platform/auth/viewer.ts';
import { invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../platform/paging.ts';
import { cursorOf, type ListOrder, placeIn } from '../../platform/sorting/places.ts';
import { awayReason } from '../../protocol/mqtt/when-connected.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { type TopicSource, TopicSources } from './control/topic-sources.ts';
import { DroppedMessages } from './live/dropped-messages.ts';
import type { TopicEvent } from './live/topic-feed.ts';
import { TopicFeeds } from './live/topic-feeds.ts';
import { checkedLengths, checkedSelection, type SelectionInput } from './topic-input.ts';
import type { LevelView, TopicConnection, TopicNodes, TopicTreeRef, TopicTreeView, TopicView } from './topic-view.ts';

export interface TopicServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokerCache: Pick<BrokerCache, 'onRemove'>;
  readonly projects: Pick<ProjectCache, 'get'>;
  /** Returns `null` for a broker without nodes that have their own messages. */
  readonly nodesOf: (broker: BrokerRecord) => TopicNodes | null;
  readonly onFault: (error: unknown) => void;
}

interface FindTopicsInput extends SelectionInput, PageArguments {
  readonly withCount: boolean;
  /** Whether payloads are requested. They are returned only to callers who may read them. */
  readonly withPayloads: boolean;
  readonly orderBy?:
    | { readonly field: TopicOrder['field']; readonly order: TopicOrder['direction'] }
    | null
    | undefined;
}

export interface LevelsInput extends Omit<PageArguments, 'offset'> {
  readonly kind: TopicKind;
  readonly of: string | null;
  readonly withPayloads: boolean;
}

/** Settings that are missing or `null` stay unchanged. */
type TopicSettingsInput = { readonly [Name in keyof TopicSettings]?: TopicSettings[Name] | null | undefined };

/** Maximum length of each list of an event. */
const MAX_LISTED = 200;

/**
 * The topics of brokers, whichever component records them. Errors of methods that query a broker:
 * NOT_SUPPORTED_BY_BROKER if topics cannot be recorded or subscriptions cannot be observed, and those of a broker that
 * cannot be queried. Recorded topics are also returned while the broker is disconnected.
 */
export class TopicService {
  readonly #options: TopicServiceOptions;
  readonly #sources = new TopicSources();
  readonly #feeds = new TopicFeeds();
  readonly #dropped = new Map<string, DroppedMessages>();
  readonly #stop: () => void;

  constructor(options: TopicServiceOptions) {
    this.#options = options;
    options.runtimes.onRuntime(({ id, sys }, change) => {
      if (change === 'OPENED') this.#dropped.set(id, new DroppedMessages(sys));
      else this.#dropped.delete(id);
    });
    this.#stop = options.brokerCache.onRemove(({ id }) => this.#feeds.removed(id));
  }

  /** Returns the nodes that have their own topic trees. `null` if the broker has only one tree. */
  nodesOf(broker: BrokerRecord): readonly TopicTreeRef[] | null {
    const nodes = this.#options.nodesOf(broker);
    return nodes === null || nodes.isMerged ? null : nodes.refs;
  }

  refOf(broker: BrokerRecord, nodeId: number | null): TopicTreeRef | null {
    const nodes = this.#options.nodesOf(broker);
    if (nodeId === null) return nodes === null || nodes.isMerged ? { broker, nodeId: null } : null;
    const node = nodes?.refs.find((ref) => ref.nodeId === nodeId);
    if (node !== undefined) return node;
    const reason = nodes === null ? 'must be missing: this broker has no nodes' : 'is not a node of this cluster';
    throw invalid([{ path: 'nodeId', reason }]);
  }

  /** Returns the current state of the recording, and starts one. */
  async tree({ broker, nodeId }: TopicTreeRef): Promise<TopicTreeView> {
    const { status, isByBroker } = await this.#call(broker, (runtime) => this.#statusOf(runtime, broker.username));
    // A broker that records its topics itself misses none of them.
    if (isByBroker) return { broker, nodeId, ...status, droppedByBroker: null };
    const nodes = (nodeId === null ? this.#options.nodesOf(broker)?.refs : undefined) ?? [{ broker }];
    const counts = await Promise.all(nodes.map((node) => this.#droppedBy(node.broker, status.since)));
    const dropped = counts.reduce((sum, count) => (count === null ? sum : count + (sum ?? 0)), null);
    return { broker, nodeId, ...status, droppedByBroker: dropped };
  }

  /** Runs a request at the component that records the broker's topics. */
  callAt<T>(broker: BrokerRecord, request: (source: TopicSource) => Promise<T>): Promise<T> {
    return this.#call(broker, ({ controls }) => request(this.#sources.of(controls)));
  }

  async #statusOf({ link, controls }: BrokerRuntime, username: string | null) {
    const status = await this.#sources.of(controls).status(username);
    const { provider } = await controls.capability(TOPIC_API);
    if (provider !== 'BROKER') return { status, isByBroker: false };
    // The mirrored topics of a broker are returned for some time without a request to it.
    const isAway = status.state === 'RECORDING' && link.status.state !== 'CONNECTED';
    const reason = awayReason(link.status, 'The broker is away');
    return { status: isAway ? { ...status, state: 'UNREACHABLE' as const, reason } : status, isByBroker: true };
  }

  /** Returns the number of listed topics. Errors: INVALID for `prefix`. */
  async count(ref: TopicTreeRef, input: Pick<SelectionInput, 'kind' | 'prefix'>): Promise<number> {
    const request = { ...checkedSelection(input), first: 0, withCount: true, withPayloads: false };
    return (await this.#query(ref, 'find', request)).totalCount ?? 0;
  }

  /** Returns a page of topics. Errors: INVALID. */
  async page(ref: TopicTreeRef, viewer: Viewer | null, input: FindTopicsInput): Promise<TopicConnection> {
    const { first, after, offset } = forwards(input);
    const order = orderOf(input.orderBy);
    const start = after === undefined ? undefined : placeIn(after, order ?? BY_LEVELS);
    if (order === undefined) checkedLengths({ after: start?.key });
    const { broker, nodeId } = ref;
    const withPayloads = input.withPayloads && this.mayReadPayloads(ref, viewer);
    const { kind, ...selection } = checkedSelection(input);
    const request = { kind, ...selection, order, first, offset, withCount: input.withCount, withPayloads };
    const { topics, hasMore, totalCount } = await this.#query(ref, 'find', {
      ...request,
      after: order === undefined ? start?.key : after,
    });
    const edges = topics.map((topic) => ({
      cursor: order === undefined ? keyCursor(topic.topic, BY_LEVELS) : topicCursor(topic, order),
      node: { broker, nodeId, kind, ...topic },
    }));
    return { edges, pageInfo: pageInfo(edges, hasMore, input), totalCount };
  }

  /** Returns a page of the children of a level. Errors: INVALID. */
  async levels(ref: TopicTreeRef, viewer: Viewer | null, input: LevelsInput): Promise<ListConnection<LevelView>> {
    const { first, after: cursor } = forwards(input);
    const { broker, nodeId } = ref;
    const { kind, of } = input;
    const after = cursor === undefined ? undefined : placeIn(cursor, LEVELS).key;
    checkedLengths({ of, after });
    const withPayloads = input.withPayloads && this.mayReadPayloads(ref, viewer);
    const request = { kind, of, first, after, withPayloads };
    const { levels, hasMore, totalCount } = await this.#query(ref, 'levels', request);
    const edges = levels.map((level) => ({
      cursor: keyCursor(level.name, LEVELS),
      node: { broker, nodeId, kind, ...level },
    }));
    return { edges, pageInfo: pageInfo(edges, hasMore, input), totalCount };
  }

  async find(ref: TopicTreeRef, kind: TopicKind, topic: string): Promise<TopicView | null> {
    checkedLengths({ topic });
    const recorded = await this.#query(ref, 'topic', { kind, topic });
    return recorded && { broker: ref.broker, nodeId: ref.nodeId, kind, ...recorded };
  }

  /** Payloads require the EDITOR role and a project that stores them. */
  mayReadPayloads({ broker: { projectId } }: TopicTreeRef, viewer: Viewer | null): boolean {
    const role = viewer && roleIn(viewer, projectId);
    return role !== null && roleIncludes(role, 'EDITOR') && this.#keepsPayloads(projectId);
  }

  settings({ broker }: TopicTreeRef): Promise<TopicSettings> {
    return this.callAt(broker, (topics) => topics.settings());
  }

  /** Changes the settings at the given node, or at all nodes. Errors: INVALID with paths in the input of a mutation. */
  async update(broker: BrokerRecord, nodeId: number | null, changes: TopicSettingsInput): Promise<void> {
    const wanted = Object.fromEntries(Object.entries(changes).filter(([, value]) => value != null));
    try {
      const ref = this.refOf(broker, nodeId);
      const refs = ref === null ? (this.nodesOf(broker) ?? []) : [ref];
      await Promise.all(refs.map((one) => this.callAt(one.broker, (topics) => topics.updateSettings(wanted))));
    } catch (error) {
      throw error instanceof ServiceError ? withPlaces(error, inputPath) : error;
    }
  }

  /** Returns the current counts, followed by the changed topics. Errors: INVALID, RATE_LIMITED. */
  async watch(
    ref: TopicTreeRef,
    { withPayloads, ...selection }: Pick<FindTopicsInput, 'kind' | 'prefix' | 'withPayloads'>,
    options: Pick<SubscriberOptions, 'signal' | 'after'>,
  ): Promise<LiveSource<TopicEvent>> {
    const { runtimes, onFault } = this.#options;
    const { broker, nodeId } = ref;
    const { kind, prefix } = checkedSelection(selection);
    const changes = (since: string | null) =>
      this.#query(ref, 'changes', {
        kind,
        prefix,
        since,
        first: MAX_LISTED,
        withPayloads: withPayloads && this.#keepsPayloads(broker.projectId),
      });
    const open = () => ({
      changes,
      status: () => this.tree(ref),
      isConnected: () => runtimes.isConnected(broker.id),
      onFault,
    });
    return this.#feeds.watch(broker.id, JSON.stringify([nodeId, kind, prefix, withPayloads]), open, options);
  }

  close(): void {
    this.#stop();
    this.#feeds.close();
    this.#sources.close();
  }

  #keepsPayloads(projectId: string): boolean {
    return this.#options.projects.get(projectId)?.topicPayloads ?? false;
  }

  #query<Type extends keyof TopicRequests>(
    { broker }: TopicTreeRef,
    type: Type,
    request: TopicRequests[Type],
  ): Promise<TopicResponses[Type]> {
    return this.callAt(broker, (source) => source.query(type, request));
  }

  /** `null` if the broker does not report the number, or records its topics itself. */
  async #droppedBy(broker: BrokerRecord, since: number | null): Promise<number | null> {
    try {
      return await this.#call(broker, async ({ id, controls }) => {
        const { provider } = await controls.capability(TOPIC_API);
        return provider === 'GATEWAY' ? (this.#dropped.get(id)?.since(since) ?? null) : null;
      });
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  /** Gateway plugins can also be queried while the broker is disconnected. */
  async #call<T>(broker: BrokerRecord, request: (runtime: BrokerRuntime) => Promise<T>): Promise<T> {
    const { runtimes } = this.#options;
    if (runtimes.status(broker.id).state !== 'UNREACHABLE') return runtimes.ask(broker, request);
    return request(runtimes.get(broker));
  }
}

/** `undefined` for the order of the tree itself. */
const orderOf = (by: FindTopicsInput['orderBy']): TopicOrder | undefined =>
  by == null || (by.field === 'TOPIC' && by.order === 'asc') ? undefined : { field: by.field, direction: by.order };

function forwards(args: PageArguments) {
  const { first, last } = checkedPage(args);
  if (last !== null || args.before != null) {
    throw new ServiceError('INVALID', 'Topics can only be paged forwards: use first and after');
  }
  return { first: first ?? DEFAULT_PAGE, after: args.after ?? undefined, offset: args.offset ?? undefined };
}

const pageInfo = (
  edges: readonly { readonly cursor: string }[],
  hasNextPage: boolean,
  { after, offset }: PageArguments,
) => ({
  hasNextPage,
  hasPreviousPage: after != null || (offset ?? 0) > 0,
  startCursor: edges[0]?.cursor ?? null,
  endCursor: edges.at(-1)?.cursor ?? null,
});

/** Maps a JSON pointer of TopicSettings to an input path. */
const inputPath = (path: string): string =>
  `input.${path.replace(/^\//, '').replaceAll('/', '.').replace('ttlSeconds', 'ttl')}`;

const BY_LEVELS = { field: 'Topic', direction: 'asc' } as const;
const LEVELS = { field: 'TopicLevel', direction: 'asc' } as const;

const keyCursor = (key: string, order: ListOrder<string>): string => cursorOf({ value: null, key }, order);
