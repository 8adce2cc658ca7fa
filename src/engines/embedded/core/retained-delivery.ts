import type { RetainedSnapshot } from '../store/retained-snapshot.ts';
import type { Subscription } from '../store/subscription.ts';
import type { Connection } from './connection.ts';
import type { CoreParts } from './core-parts.ts';
import type { Delivery } from './delivery.ts';

/** Limits of one slice. A larger message is a slice of its own. */
const SLICE = { messages: 500, bytes: 65_536 };
/** Maximum number of waiting SUBSCRIBEs of one client. Nothing more is read of the client then. */
const MAX_WAITING = 16;
/** Disconnected clients whose retained messages are still queued. Beyond it they end with the connection. */
const MAX_OFFLINE = 1_000;

interface Request {
  readonly snapshot: RetainedSnapshot;
  /** By topic filter. */
  readonly subscriptions: ReadonlyMap<string, Subscription>;
}

/** The requests of one client. The first request is in progress. */
interface ClientRequests {
  readonly connection: Connection;
  readonly requests: Request[];
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
  #isScheduled = false;
  #offline = 0;
  readonly #delivery: Delivery;

  constructor(parts: CoreParts, delivery: Delivery) {
    this.#parts = parts;
    this.#delivery = delivery;
  }

  /** The messages of new subscriptions as of this call. The returned function begins to send them. */
  request(connection: Connection, subscriptions: readonly Subscription[]): () => void {
    const byFilter = new Map(subscriptions.map((subscription) => [subscription.topic, subscription]));
    if (byFilter.size === 0) return () => {};
    const snapshot = this.#parts.store.retained.snapshot([...byFilter.keys()]);
    this.#delivery.retained.hold(connection);
    return () => this.#add(connection, { snapshot, subscriptions: byFilter });
  }

  closed(connection: Connection): void {
    const client = this.#clients.get(connection);
    if (!client) return;
    if (!connection.isClean && this.#offline < MAX_OFFLINE) {
      client.isOffline = true;
      this.#offline += 1;
    } else this.#end(client);
  }

  close(): void {
    this.#clients.clear();
    this.#ready = [];
  }

  #add(connection: Connection, request: Request): void {
    const client = this.#clients.get(connection);
    if (client) {
      client.requests.push(request);
      if (client.requests.length === MAX_WAITING) connection.stopReading();
      return;
    }
    const added = { connection, requests: [request], isOffline: false };
    this.#clients.set(connection, added);
    if (this.#parts.time.leftMs > 0) this.#send(added);
    else this.#wait(added);
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
      if (client && this.#clients.has(client.connection)) this.#send(client);
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
    const { matches, isDone } = request.snapshot.read({ ...SLICE, end: start + time.leftMs });
    const messages = matches.flatMap(({ packet, filter }) => {
      const subscription = request.subscriptions.get(filter);
      return subscription ? { packet, subscription } : [];
    });
    this.#delivery.retained.send(client.connection, messages, () => this.#sliceSent(client, isDone));
    time.spend(performance.now() - start);
  }

  #sliceSent(client: ClientRequests, isDone: boolean): void {
    const { connection, requests } = client;
    if (!this.#clients.has(connection)) return;
    if (isDone) {
      requests.shift();
      this.#delivery.retained.release(connection);
      if (requests.length === MAX_WAITING - 1) connection.resumeReading();
    }
    if (requests.length > 0) this.#wait(client);
    else this.#end(client);
  }

  #end(client: ClientRequests): void {
    if (!this.#clients.delete(client.connection)) return;
    if (client.isOffline) this.#offline -= 1;
    if (client.requests.length >= MAX_WAITING) client.connection.resumeReading();
  }
}
