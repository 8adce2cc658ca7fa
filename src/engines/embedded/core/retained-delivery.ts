import type { RetainedPacket } from '../store/retained-store.ts';
import type { Connection } from './connection.ts';
import type { CoreParts } from './core-parts.ts';

/** Limits of one slice. A larger message is a slice of its own. */
const MAX_MESSAGES = 100;
const MAX_BYTES = 65_536;
/** Maximum number of waiting SUBSCRIBEs of one client. Nothing more is read of the client then. */
const MAX_WAITING = 16;
/** Disconnected clients whose retained messages are still queued. Beyond it they end with the connection. */
const MAX_OFFLINE = 1_000;

/** The transform stream of aedes that sends a retained message, and calls `sent` when the socket has taken it. */
interface Sender {
  _transform(message: RetainedPacket, encoding: BufferEncoding, sent: () => void): void;
}

interface Request {
  readonly messages: Iterator<RetainedPacket | null>;
  readonly sender: Sender;
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
  #subscriber: Connection | undefined;

  constructor(parts: CoreParts) {
    this.#parts = parts;
  }

  /** aedes requests retained messages immediately after its event `subscribe`, and does not name the client. */
  subscribed(connection: Connection | undefined): void {
    this.#subscriber = connection;
  }

  read(filters: readonly string[]): { pipe(sender: Sender): void } {
    const connection = this.#subscriber;
    const messages = this.#parts.store.retained.forSubscriber(filters);
    return { pipe: (sender) => connection && this.#add(connection, { messages, sender }) };
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
    const { time } = this.#parts;
    const [request] = client.requests;
    if (!request) return;
    const start = performance.now();
    const end = start + time.leftMs;
    let isDone = false;
    let unsent = 1;
    const sent = () => {
      unsent -= 1;
      if (unsent === 0) this.#sliceSent(client, isDone);
    };
    let bytes = 0;
    for (let count = 0; count < MAX_MESSAGES && bytes < MAX_BYTES; ) {
      const { done, value } = request.messages.next();
      isDone = done === true;
      if (isDone) break;
      if (value) {
        unsent += 1;
        count += 1;
        bytes += value.topic.length + value.payload.length;
        request.sender._transform(value, 'utf8', sent);
      }
      if (performance.now() >= end) break;
    }
    time.spend(performance.now() - start);
    sent();
  }

  #sliceSent(client: ClientRequests, isDone: boolean): void {
    const { connection, requests } = client;
    if (!this.#clients.has(connection)) return;
    if (isDone) {
      requests.shift();
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
