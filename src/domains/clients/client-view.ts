import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { ClientRef } from './inspect/client-key.ts';
import type { ClientListState } from './inspect/client-registry.ts';
import type {
  ClientQueues,
  ClientSource,
  ConnectedClientDetail,
  ConnectedClientSummary,
} from './inspect/inspect-data.ts';
import type { QueueReader } from './queue-reader.ts';

/** A client as the graph shows it. */
export interface ClientView {
  readonly broker: BrokerRecord;
  /** The summary; with `isDetailed` everything the broker tells. */
  readonly known: ConnectedClientDetail;
  readonly isDetailed: boolean;
  /** A connection of this service itself. */
  readonly isGateway: boolean;
  readonly source: ClientSource;
  /** Epoch milliseconds. */
  readonly asOf: number;
  /** One of so many that the broker is not asked about each. */
  readonly isOneOfMany: boolean;
  /** Asks the broker, once for this view and if it may. Null: the client has gone, or the broker may not be asked. */
  readDetail(mayAsk: () => Promise<boolean>): Promise<ConnectedClientDetail | null>;
  /** What waits now, asked for where what is known of it is older than `asOf`. Null: not told, or as with `readDetail`. */
  readQueues(mayAsk: () => Promise<boolean>): ClientQueues | null | Promise<ClientQueues | null>;
}

/** What all clients of one list have in common. */
export interface ClientList {
  readonly broker: BrokerRecord;
  readonly state: ClientListState;
  readonly isOneOfMany: boolean;
  readonly isOwn: (clientId: string) => boolean;
  readonly readDetail: (place: ClientRef) => Promise<ConnectedClientDetail | null>;
  readonly queues: QueueReader;
}

/** A client in a list: its summary is at hand, for more the broker is asked. */
export class ListedClient implements ClientView {
  readonly known: ConnectedClientSummary;
  readonly isDetailed = false;
  readonly #list: ClientList;
  #detail: Promise<ConnectedClientDetail | null> | undefined;

  constructor(known: ConnectedClientSummary, list: ClientList) {
    this.known = known;
    this.#list = list;
  }

  get broker(): BrokerRecord {
    return this.#list.broker;
  }

  get source(): ClientSource {
    return this.known.source ?? this.#list.state.source;
  }

  get asOf(): number {
    return this.#list.state.asOf;
  }

  get isOneOfMany(): boolean {
    return this.#list.isOneOfMany;
  }

  get isGateway(): boolean {
    return this.known.gateway === true || this.#list.isOwn(this.known.clientid);
  }

  readDetail(mayAsk: () => Promise<boolean>): Promise<ConnectedClientDetail | null> {
    this.#detail ??= this.#read(mayAsk);
    return this.#detail;
  }

  readQueues(mayAsk: () => Promise<boolean>): ClientQueues | null | Promise<ClientQueues | null> {
    const { queues } = this.known;
    if (queues === undefined) return null;
    return this.#list.state.isFollowed ? this.#list.queues.read(this.known, mayAsk) : queues;
  }

  async #read(mayAsk: () => Promise<boolean>): Promise<ConnectedClientDetail | null> {
    return (await mayAsk()) ? this.#list.readDetail(this.known) : null;
  }
}
