import type { ClientRef } from '../../protocol/apis/clients/client-key.ts';
import type {
  ClientQueues,
  ClientSource,
  ConnectedClientDetail,
  ConnectedClientSummary,
} from '../../protocol/apis/clients/inspect-data.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { ClientListState } from './inspect/client-listing.ts';
import type { QueueReader } from './queue-reader.ts';

export interface ClientView {
  readonly broker: BrokerRecord;
  /** The summary; with `isDetailed` all fields that the broker reports. */
  readonly known: ConnectedClientDetail;
  readonly isDetailed: boolean;
  /** Whether the client is a connection of this service itself. */
  readonly isGateway: boolean;
  readonly source: ClientSource;
  readonly asOf: number;
  /** Whether the list is too long to read the details of each client. */
  readonly isOneOfMany: boolean;
  /** Reads the details from the broker, once per view. `null` if the client is gone, or `mayAsk` returns false. */
  readDetail(mayAsk: () => Promise<boolean>): Promise<ConnectedClientDetail | null>;
  /** The current queues, read from the broker if the list is older. `null`: unknown, or as `readDetail`. */
  readQueues(mayAsk: () => Promise<boolean>): ClientQueues | null | Promise<ClientQueues | null>;
}

export interface ClientList {
  readonly broker: BrokerRecord;
  readonly state: ClientListState;
  readonly isOneOfMany: boolean;
  readonly isOwn: (clientId: string) => boolean;
  readonly readDetail: (client: ClientRef) => Promise<ConnectedClientDetail | null>;
  readonly queues: QueueReader;
}

/** A client in a list: has its summary, and reads further fields from the broker. */
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
