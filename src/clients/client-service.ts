import type { BrokerRecord } from '../brokers/broker-directory.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { ServiceError } from '../errors.ts';
import type { SubscriberOptions } from '../live/broadcast.ts';
import type { LiveSource } from '../live/live-source.ts';
import { checkedPage, DEFAULT_PAGE, type ListConnection, type PageArguments } from '../paging.ts';
import type { FilterMode } from '../text-filter.ts';
import {
  type ClientListState,
  ClientRegistry,
  type ClientRegistryEvent,
  type ClientSource,
} from './inspect/client-registry.ts';
import { type ConnectedClientDetail, type ConnectedClientSummary, getClient } from './inspect/inspect-control.ts';

/** A client as the graph shows it. */
export interface ClientView {
  readonly broker: BrokerRecord;
  /** The summary; with `isDetailed` everything the broker tells. */
  readonly known: ConnectedClientDetail;
  readonly isDetailed: boolean;
  /** Asks the broker, once for this view. Null: the client has gone. */
  readonly readDetail: () => Promise<ConnectedClientDetail | null>;
  readonly source: ClientSource;
  /** Epoch milliseconds. */
  readonly asOf: number;
}

export interface ClientConnection extends ListConnection<ClientView> {
  readonly isComplete: boolean;
  readonly since: number | null;
  readonly asOf: number;
}

/** Who is connected to a broker now, without the persistent sessions that are offline. */
export interface ConnectedClients {
  readonly clients: readonly ConnectedClientSummary[];
  /** False: others may be connected that nobody can tell of. */
  readonly isComplete: boolean;
  readonly viewOf: (client: ConnectedClientSummary) => ClientView;
}

export interface ClientsEvent {
  readonly event: ClientRegistryEvent;
  readonly views: (clients: readonly ConnectedClientSummary[]) => ClientView[];
}

export interface ClientPageArguments extends PageArguments {
  readonly filter?: { readonly value: string; readonly mode?: FilterMode | null | undefined } | null | undefined;
}

/** Who is connected to brokers: one observation per broker, shared by everybody who looks. */
export class ClientService {
  readonly #runtimes: BrokerRuntimes;
  readonly #registries = new Map<string, ClientRegistry>();

  constructor({ runtimes }: { readonly runtimes: BrokerRuntimes }) {
    this.#runtimes = runtimes;
    runtimes.onRuntime((runtime, change) => {
      if (change === 'OPENED') return;
      this.#registries.get(runtime.id)?.close();
      this.#registries.delete(runtime.id);
    });
  }

  /** Errors: INVALID, and those of a broker that cannot be asked. */
  async page(broker: BrokerRecord, args: ClientPageArguments): Promise<ClientConnection> {
    const { first, last } = checkedPage(args);
    if (last !== null || args.before != null) {
      throw new ServiceError('INVALID', 'Clients are paged forwards: use first and after');
    }
    const { after, filter } = args;
    const query = {
      offset: args.offset ?? 0,
      count: first ?? DEFAULT_PAGE,
      ...(after == null ? {} : { after }),
      ...(filter == null ? {} : { filterValue: filter.value, filterMode: filter.mode ?? 'contains' }),
    };
    const page = await this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).page(query));
    const edges = page.clients.map((client) => ({
      cursor: client.clientid,
      node: viewOf(this.#runtimes, broker, client, page),
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
      since: page.since,
      asOf: page.asOf,
    };
  }

  /** One client with everything the broker tells of it; null when there is none. Errors: of a broker that cannot be asked. */
  async find(broker: BrokerRecord, clientId: string): Promise<ClientView | null> {
    return this.#runtimes.ask(broker, async (runtime) => {
      const known = await detailOf(runtime, clientId);
      if (known === null) return null;
      const { source, asOf } = await sourceOf(runtime);
      return { broker, known, isDetailed: true, readDetail: async () => known, source, asOf };
    });
  }

  /** All that are connected, in one piece. Errors: of a broker that cannot be asked. */
  async connected(broker: BrokerRecord): Promise<ConnectedClients> {
    const page = await this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).page());
    return {
      clients: page.clients.filter(({ connected }) => connected !== false),
      isComplete: page.complete,
      viewOf: (client) => viewOf(this.#runtimes, broker, client, page),
    };
  }

  /** All clients now, then each change. Errors: of a broker that cannot be asked. */
  watch(broker: BrokerRecord, options: SubscriberOptions): Promise<LiveSource<ClientRegistryEvent>> {
    return this.#runtimes.ask(broker, (runtime) => this.#registry(runtime).watch(options));
  }

  /** An event of `watch`, with its clients as the graph shows them. */
  eventOf(broker: BrokerRecord, event: ClientRegistryEvent): ClientsEvent {
    const state = event.kind === 'SNAPSHOT' ? event.snapshot : event.kind === 'CHANGE' ? event.change : null;
    return {
      event,
      views: (clients) =>
        state === null ? [] : clients.map((client) => viewOf(this.#runtimes, broker, client, state)),
    };
  }

  close(): void {
    for (const registry of this.#registries.values()) registry.close();
    this.#registries.clear();
  }

  #registry({ id, controls, link }: BrokerRuntime): ClientRegistry {
    let registry = this.#registries.get(id);
    if (registry === undefined) {
      registry = new ClientRegistry(controls, { session: link });
      this.#registries.set(id, registry);
    }
    return registry;
  }
}

function viewOf(
  runtimes: BrokerRuntimes,
  broker: BrokerRecord,
  client: ConnectedClientSummary,
  { source, asOf }: ClientListState,
): ClientView {
  let detail: Promise<ConnectedClientDetail | null> | undefined;
  return {
    broker,
    known: client,
    isDetailed: false,
    readDetail: () => {
      detail ??= runtimes.ask(broker, (runtime) => detailOf(runtime, client.clientid));
      return detail;
    },
    source,
    asOf,
  };
}

async function detailOf({ controls }: BrokerRuntime, clientId: string): Promise<ConnectedClientDetail | null> {
  try {
    return await getClient(controls, clientId);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

async function sourceOf({ controls }: BrokerRuntime): Promise<{ source: ClientSource; asOf: number }> {
  const { provider } = await controls.capability('cedalo/inspect');
  return { source: provider === 'GATEWAY' ? 'LOG_FEED' : 'BROKER', asOf: Date.now() };
}
