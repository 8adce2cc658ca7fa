import { stateIn } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { invalid, nullOn, ServiceError } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../platform/paging.ts';
import type { ClientRef } from '../../protocol/apis/clients/client-key.ts';
import { getClient } from '../../protocol/apis/clients/inspect-control.ts';
import type {
  ClientSource,
  ConnectedClientDetail,
  ConnectedClientSummary,
} from '../../protocol/apis/clients/inspect-data.ts';
import { listSubscribers } from '../../protocol/apis/clients/subscriber-control.ts';
import { MAX_SUBSCRIBERS, type SubscriberList } from '../../protocol/apis/clients/subscriber-list.ts';
import { topicProblem } from '../../protocol/mqtt/topics.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClientGroups } from './client-groups.ts';
import { type ClientConditions, filterOf, refuseBacklogs, type WatchArguments } from './client-selection.ts';
import { type ClientList, type ClientView, ListedClient } from './client-view.ts';
import type { ClientSelection } from './inspect/client-feeds.ts';
import type { ClientFilter } from './inspect/client-filter.ts';
import type { ClientListState, ClientRegistryEvent } from './inspect/client-listing.ts';
import type { ClientOrder } from './inspect/client-order.ts';
import { ClientRegistry, type OrderedPageQuery } from './inspect/client-registry.ts';
import type { OwnConnections } from './own-connections.ts';
import { QueueReader } from './queue-reader.ts';

interface ClientConnection extends ListConnection<ClientView> {
  readonly isComplete: boolean;
  /** Number of clients that may match, because a value that the filter needs is unknown. */
  readonly undecidedCount: number;
  readonly incompleteReason: string | null;
  readonly since: number | null;
  readonly asOf: number;
}

/** The subscriptions of a broker that match a topic. */
export interface SubscribersView extends SubscriberList {
  readonly broker: BrokerRecord;
  readonly isOwn: (clientId: string) => boolean;
}

export interface ClientsOfBroker {
  readonly clients: readonly ConnectedClientSummary[];
  /** `false` if unknown clients may be connected, or clients may match whose values are unknown. */
  readonly isComplete: boolean;
  readonly viewOf: (client: ConnectedClientSummary) => ClientView;
}

export interface ClientsEvent {
  readonly broker: BrokerRecord;
  readonly event: ClientRegistryEvent;
  readonly views: (clients: readonly ConnectedClientSummary[]) => ClientView[];
}

interface ClientPageArguments extends PageArguments {
  readonly filter?: ClientConditions | null | undefined;
  readonly orderBy?:
    | { readonly field: ClientOrder['field']; readonly order: ClientOrder['direction'] }
    | null
    | undefined;
}

interface ClientServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: Pick<BrokerCache, 'onRemove'>;
  readonly own: OwnConnections;
  readonly groups: ClientGroups;
}

/** The clients of all brokers. All callers share one registry per broker. */
export class ClientService {
  readonly #runtimes: BrokerRuntimes;
  readonly #own: OwnConnections;
  readonly #groups: ClientGroups;
  readonly #stop: () => void;
  readonly #registries = new Map<string, ClientRegistry>();

  constructor({ runtimes, brokers, own, groups }: ClientServiceOptions) {
    this.#runtimes = runtimes;
    this.#own = own;
    this.#groups = groups;
    // Changed settings of a broker create another runtime, with which watchers continue.
    runtimes.onRuntime(({ id, controls, link }, change) => {
      const registry = this.#registries.get(id);
      if (change === 'OPENED') registry?.attach(controls, link);
      else registry?.detach();
    });
    this.#stop = brokers.onRemove(({ id }) => {
      this.#registries.get(id)?.close();
      this.#registries.delete(id);
    });
  }

  /** Errors: INVALID, those of `groups`, and those of an unreachable broker. */
  async page(broker: BrokerRecord, args: ClientPageArguments): Promise<ClientConnection> {
    const { first, last } = checkedPage(args);
    if (last !== null || args.before != null) {
      throw new ServiceError('INVALID', 'Clients can only be paged forwards: use `first` and `after`');
    }
    const { after, offset, orderBy } = args;
    const query: OrderedPageQuery = {
      offset: offset ?? 0,
      count: first ?? DEFAULT_PAGE,
      after: after ?? undefined,
      ...(orderBy == null ? {} : { order: { field: orderBy.field, direction: orderBy.order } }),
      ...(await this.filterOf(broker, args.filter)),
    };
    const page = await this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).page(query));
    const list = this.#list(broker, page);
    const edges = page.clients.map((client) => ({
      cursor: page.cursorOf(client),
      node: new ListedClient(client, list),
    }));
    return {
      edges,
      pageInfo: {
        hasNextPage: page.offset + edges.length < page.totalCount,
        hasPreviousPage: page.offset > 0,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges[edges.length - 1]?.cursor ?? null,
      },
      totalCount: page.totalCount,
      isComplete: page.complete,
      undecidedCount: page.undecided,
      incompleteReason: page.incompleteReason,
      since: page.since,
      asOf: page.asOf,
    };
  }

  /**
   * Returns one client with all fields that the broker reports; `null` if it does not exist. If several nodes of a
   * cluster have a client of this id: the client of `nodeId`, else the connected client, and of several the one that
   * connected last. Errors: those of an unreachable broker.
   */
  async find(broker: BrokerRecord, clientId: string, nodeId?: number | null): Promise<ClientView | null> {
    const ref = { clientid: clientId, ...(nodeId == null ? {} : { node: nodeId }) };
    return this.#runtimes.ask(broker, async (runtime) => {
      const known = await detailOf(runtime, ref);
      if (known === null) return null;
      const { source, asOf } = await sourceOf(runtime, known);
      const isGateway = known.gateway === true || this.#own.has(clientId);
      const readDetail = async () => known;
      const readQueues = () => known.queues ?? null;
      const about = { isDetailed: true, isOneOfMany: false, isGateway, source, asOf };
      return { broker, known, ...about, readDetail, readQueues };
    });
  }

  /** Errors: INVALID, with paths below `path`; for a group those of `groups`. */
  async filterOf(
    broker: BrokerRecord,
    conditions: ClientConditions | null | undefined,
    path = 'filter',
  ): Promise<ClientFilter> {
    const filter = filterOf(conditions, path);
    if (conditions?.groupName == null) return filter;
    return { ...filter, group: await this.#groups.find(broker, conditions.groupName) };
  }

  /** All connected clients that match. Errors: those of an unreachable broker. */
  async connected(broker: BrokerRecord, filter: ClientFilter = {}): Promise<ClientsOfBroker> {
    return this.all(broker, { ...filter, connected: true });
  }

  /** All clients that match, also offline sessions. Errors: those of an unreachable broker. */
  async all(broker: BrokerRecord, filter: ClientFilter = {}): Promise<ClientsOfBroker> {
    const page = await this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).page(filter));
    const list = this.#list(broker, page);
    return {
      clients: page.clients,
      isComplete: page.complete,
      viewOf: (client) => new ListedClient(client, list),
    };
  }

  /** Errors: INVALID, NOT_SUPPORTED_BY_BROKER, and those of an unreachable broker. */
  async subscribers(broker: BrokerRecord, topic: string, count: number): Promise<SubscribersView> {
    const problem = topicProblem(topic);
    if (problem !== null) throw invalid([{ path: 'topic', reason: problem }]);
    if (count < 1 || count > MAX_SUBSCRIBERS) {
      throw invalid([{ path: 'first', reason: `must be 1 to ${MAX_SUBSCRIBERS}` }]);
    }
    const list = await this.#runtimes.ask(broker, ({ controls }) => listSubscribers(controls, { topic, count }));
    return { ...list, broker, isOwn: (clientId) => this.#own.has(clientId) };
  }

  expectEnds(broker: BrokerRecord, clientIds: readonly string[]): (ended: readonly string[]) => Promise<void> {
    return this.#registries.get(broker.id)?.expectEnds(clientIds) ?? (async () => undefined);
  }

  /** Errors: INVALID, RATE_LIMITED, those of `groups`, and those of an unreachable broker. */
  async watch(
    broker: BrokerRecord,
    options: SubscriberOptions,
    { filter, form }: WatchArguments = {},
  ): Promise<LiveSource<ClientRegistryEvent>> {
    refuseBacklogs(filter);
    const selected = { ...(await this.filterOf(broker, filter)), form: form ?? 'CLIENTS' };
    return this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).watch(options, selected));
  }

  eventOf(broker: BrokerRecord, event: ClientRegistryEvent, form: ClientSelection['form']): ClientsEvent {
    const state = stateIn(event);
    if (state === null || form === 'COUNTS') return { broker, event, views: () => [] };
    const list = this.#list(broker, state, event.partsLeft > 0);
    return { broker, event, views: (clients) => clients.map((client) => new ListedClient(client, list)) };
  }

  close(): void {
    this.#stop();
    for (const registry of this.#registries.values()) registry.close();
    this.#registries.clear();
  }

  #list(broker: BrokerRecord, state: ClientListState, isOneOfMany = false): ClientList {
    return {
      broker,
      state,
      isOneOfMany,
      isOwn: (clientId) => this.#own.has(clientId),
      readDetail: (client) => this.#runtimes.ask(broker, (runtime) => detailOf(runtime, client)),
      queues: new QueueReader((request) => this.#runtimes.ask(broker, ({ controls }) => request(controls))),
    };
  }

  #registry({ id, controls, link }: BrokerRuntime): ClientRegistry {
    let registry = this.#registries.get(id);
    if (registry === undefined) {
      registry = new ClientRegistry(controls, link);
      this.#registries.set(id, registry);
    }
    return registry;
  }
}

async function detailOf(
  { controls }: BrokerRuntime,
  { clientid, node }: ClientRef,
): Promise<ConnectedClientDetail | null> {
  return getClient(controls, clientid, node).catch(nullOn('NOT_FOUND'));
}

async function sourceOf(
  { controls }: BrokerRuntime,
  known: ConnectedClientDetail,
): Promise<{ source: ClientSource; asOf: number }> {
  if (known.source !== undefined) return { source: known.source, asOf: Date.now() };
  const { provider } = await controls.capability('cedalo/inspect');
  return { source: provider === 'GATEWAY' ? 'LOG_FEED' : 'BROKER', asOf: Date.now() };
}
