import type { Connection } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { Subscription } from '../store/subscription.ts';
import { RetainedRequest } from './retained-request.ts';
import { whenSettled } from './retained-sender.ts';
import { UnsentRetained } from './unsent-retained.ts';

/** Limits of one slice. A larger message is a slice of its own. */
const SLICE = { messages: 500, bytes: 65_536 };
/** Maximum number of waiting SUBSCRIBEs of one client. Nothing more is read of the client then. */
const MAX_WAITING = 16;
/** The same for their topic filters; the last SUBSCRIBE may exceed it. */
const MAX_WAITING_FILTERS = 1_000;
/** Waiting filters of a client that is read because it has to acknowledge messages. Beyond it, it is disconnected. */
const MAX_UNREAD_FILTERS = 20_000;
/** Waiting filters of all clients. Above it, a client with a waiting SUBSCRIBE is not read. */
const MAX_TOTAL_FILTERS = 500_000;
/** Disconnected clients whose retained messages are still queued. Beyond it they end with the connection. */
const MAX_OFFLINE = 1_000;

/** The requests of one client. The first request is in progress. */
interface ClientRequests {
  readonly connection: Connection;
  requests: RetainedRequest[];
  /** Weight of the requests. */
  filters: number;
  /** Sequence numbers of large messages that its socket has not taken. */
  readonly unsent: number[];
  isStopped: boolean;
  /** Whether it must acknowledge messages before it gets more. */
  isUnsettled: boolean;
  isOffline: boolean;
}

/**
 * Sends retained messages after SUBSCRIBE, in slices and round robin over clients: comparing hundreds of filters with a
 * hundred thousand topics takes seconds. Requests of persistent sessions continue after a disconnect.
 */
export class RetainedDelivery {
  readonly #parts: CoreParts;
  readonly #clients = new Map<Connection, ClientRequests>();
  #ready: ClientRequests[] = [];
  /** Clients that wait for room for a large message, and the client whose turn it is. */
  readonly #blocked = new Set<ClientRequests>();
  #turn: ClientRequests | null = null;
  #isScheduled = false;
  #offline = 0;
  #filters = 0;
  readonly #delivery: Delivery;
  readonly #unsent: UnsentRetained;

  constructor(parts: CoreParts, delivery: Delivery) {
    this.#parts = parts;
    this.#delivery = delivery;
    this.#unsent = new UnsentRetained(parts.limits.unsentRetainedBytes);
  }

  /** Whether the client may send no further SUBSCRIBE before it has acknowledged messages. */
  exceedsLimit(connection: Connection): boolean {
    const filters = this.#clients.get(connection)?.filters ?? 0;
    return filters >= (this.#filters >= MAX_TOTAL_FILTERS ? MAX_WAITING_FILTERS : MAX_UNREAD_FILTERS);
  }

  /** The messages of new subscriptions as of this call. The returned function begins to send them. */
  request(connection: Connection, subscriptions: readonly Subscription[]): () => void {
    const byFilter = new Map(subscriptions.map((subscription) => [subscription.topic, subscription]));
    if (byFilter.size === 0) return () => {};
    const request = new RetainedRequest(this.#parts.store.retained, [...byFilter.values()]);
    this.#delivery.retained.hold(connection);
    const client = this.#clientOf(connection);
    client.requests.push(request);
    this.#weigh(client, request.weight);
    return () => this.#start(client, request);
  }

  #clientOf(connection: Connection): ClientRequests {
    let client = this.#clients.get(connection);
    if (!client) {
      const flags = { isStopped: false, isUnsettled: false, isOffline: false };
      client = { connection, requests: [], filters: 0, unsent: [], ...flags };
      this.#clients.set(connection, client);
    }
    return client;
  }

  #weigh(client: ClientRequests, weight: number): void {
    client.filters += weight;
    this.#filters += weight;
    this.#regulate(client);
  }

  /** A client that has to acknowledge messages is read, because its acknowledgements come behind its SUBSCRIBEs. */
  #regulate(client: ClientRequests): void {
    const { connection, requests, filters, isUnsettled } = client;
    const limit = this.#filters >= MAX_TOTAL_FILTERS ? 1 : MAX_WAITING_FILTERS;
    const isStopped = !isUnsettled && (requests.length >= MAX_WAITING || filters >= limit);
    if (isStopped === client.isStopped) return;
    client.isStopped = isStopped;
    if (isStopped) connection.stopReading();
    else connection.resumeReading();
  }

  closed(connection: Connection): void {
    const client = this.#clients.get(connection);
    if (!client) return;
    // The others get no SUBACK any more.
    const ready = client.requests.filter(({ isReady }) => isReady);
    const isKept = ready.length > 0 && this.#offline < MAX_OFFLINE && this.#filters < MAX_TOTAL_FILTERS;
    if (connection.isClean || !isKept) {
      this.#end(client);
      return;
    }
    const weight = ready.reduce((sum, request) => sum + request.weight, 0);
    client.requests = ready;
    this.#weigh(client, weight - client.filters);
    client.isOffline = true;
    this.#offline += 1;
  }

  close(): void {
    this.#clients.clear();
    this.#blocked.clear();
    this.#ready = [];
  }

  #start(client: ClientRequests, request: RetainedRequest): void {
    request.isReady = true;
    if (client.requests[0] !== request || !this.#isCurrent(client)) return;
    if (this.#parts.time.leftMs > 0) this.#send(client);
    else this.#wait(client);
  }

  #isCurrent(client: ClientRequests): boolean {
    return this.#clients.get(client.connection) === client;
  }

  #wait(client: ClientRequests): void {
    this.#ready.push(client);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#ready.length === 0) return;
    this.#isScheduled = true;
    // All clients together get one turn among the clients whose packets are read.
    this.#parts.time.nextIteration(() => {
      this.#isScheduled = false;
      const client = this.#ready.shift();
      if (client && this.#isCurrent(client)) this.#send(client);
      this.#schedule();
    });
  }

  #send(client: ClientRequests): void {
    const text = 'retained messages could not be sent to a client';
    try {
      this.#sendSlice(client);
    } catch (error) {
      this.#end(client);
      this.#parts.faults.ofConnection(client.connection, text, error);
    }
  }

  #sendSlice(client: ClientRequests): void {
    const { time, limits, store } = this.#parts;
    const [request] = client.requests;
    if (!request) return;
    const { session } = client.connection;
    const isOver = session !== null && store.sessions.get(session.id) !== session;
    if (isOver || (client.isOffline && session && session.queue.size >= limits.offlineMessages)) {
      this.#end(client);
      return;
    }
    const start = performance.now();
    const isTurn = this.#turn === client || (this.#turn === null && this.#blocked.size === 0);
    const { messages, isDone, isBlocked } = request.read({
      ...SLICE,
      end: start + time.leftMs,
      take: (packet, sequence) => this.#unsent.take(client.unsent, packet, sequence, isTurn),
    });
    if (this.#turn === client) this.#turn = null;
    const next = isDone ? 'DONE' : isBlocked ? 'BLOCKED' : 'MORE';
    this.#delivery.retained.send(client.connection, messages, () => this.#drained(client, next));
    this.#unblock();
    time.spend(performance.now() - start);
  }

  #drained(client: ClientRequests, next: Next): void {
    this.#release(client);
    client.isUnsettled = true;
    whenSettled(client.connection, () => {
      client.isUnsettled = false;
      this.#sliceSent(client, next);
    });
    if (this.#isCurrent(client)) this.#regulate(client);
  }

  #sliceSent(client: ClientRequests, next: Next): void {
    const { connection, requests } = client;
    if (!this.#isCurrent(client)) return;
    if (next === 'DONE') {
      const weight = requests.shift()?.weight ?? 0;
      this.#delivery.retained.release(connection);
      this.#weigh(client, -weight);
    }
    const [request] = requests;
    if (!request) this.#end(client);
    else if (next === 'BLOCKED') {
      this.#blocked.add(client);
      this.#unblock();
    } else if (request.isReady) this.#wait(client);
  }

  #release(client: ClientRequests): void {
    if (client.unsent.length === 0) return;
    this.#unsent.release(client.unsent);
    this.#unblock();
  }

  #unblock(): void {
    const [client] = this.#blocked;
    if (!client || this.#turn !== null || !this.#unsent.hasRoom) return;
    this.#blocked.delete(client);
    this.#turn = client;
    this.#wait(client);
  }

  #end(client: ClientRequests): void {
    if (!this.#clients.delete(client.connection)) return;
    if (client.isOffline) this.#offline -= 1;
    client.requests = [];
    client.isUnsettled = false;
    this.#weigh(client, -client.filters);
    this.#blocked.delete(client);
    if (this.#turn === client) this.#turn = null;
    this.#release(client);
    this.#unblock();
  }
}

/** BLOCKED: there is no room for the next message. */
type Next = 'DONE' | 'BLOCKED' | 'MORE';
