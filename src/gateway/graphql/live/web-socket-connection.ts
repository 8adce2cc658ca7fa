/**
 * One WebSocket with the protocol graphql-transport-ws.
 *
 * Credentials come with `connection_init` (`authorization`, `Authorization` or `token`), otherwise with the header of
 * the upgrade request. The socket closes with 4403 if they are unknown, and when they end: also without an operation.
 * Every operation has a new context. A subscription whose caller loses a permission ends with an error event; the
 * socket then closes with 4403 if no other operation runs.
 *
 * Bounds: MAX_OPERATIONS, MAX_INIT_LENGTH and MAX_ID characters, and those of WebSocketFlow and WebSocketWriter. A
 * socket without credentials and without an operation is closed with 4401 after `anonymousIdleMs`.
 */
import type { IncomingMessage } from 'node:http';
import { type ExecutionArgs, GraphQLError, parse } from 'graphql';
import { CloseCode, makeServer } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Viewer } from '../../../platform/auth/viewer.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { parseExactJson } from '../../../platform/text/exact-json.ts';
import { hasFewShapes, TOO_MANY_SHAPES } from '../../../platform/text/json-bounds.ts';
import type { RequestContext } from '../../context.ts';
import { type Endpoint, textOf } from '../endpoint.ts';
import { factsOf, type TransportOptions } from '../http.ts';
import { type PublicError, publicError } from '../public-error.ts';
import { Heartbeat } from './heartbeat.ts';
import { LastMessages } from './last-messages.ts';
import { LiveResults } from './live-results.ts';
import { WebSocketFlow } from './web-socket-flow.ts';
import { WebSocketSubscription } from './web-socket-subscription.ts';
import { WebSocketWriter } from './web-socket-writer.ts';

type ConnectionParams = Readonly<Record<string, unknown>>;

/** Running on one connection at the same time. */
const MAX_OPERATIONS = 100;

/** Maximum characters of messages before and with `connection_init`, whose payload is stored for each operation. */
const MAX_INIT_LENGTH = 16_384;
const MAX_ID = 1_000;
/** A client, or this process, that is busy may take seconds from the upgrade to `connection_init`. */
const INIT_TIMEOUT_MS = 30_000;
/** Close codes of the IANA registry (RFC 6455 7.4.1). */
const MESSAGE_TOO_BIG = 1009;
const TRY_AGAIN_LATER = 1013;
const NEVER: () => Promise<never> = () => new Promise(() => undefined);
/** graphql-ws requires a valid document. The Endpoint executes the real one. */
const PLACEHOLDER = { query: parse('query { __typename }'), subscription: parse('subscription { __typename }') };

export class WebSocketConnection {
  readonly #options: TransportOptions;
  readonly #socket: WebSocket;
  readonly #req: IncomingMessage;
  readonly #socketWriter: WebSocketWriter;
  readonly #flow: WebSocketFlow;
  readonly #lastMessages: LastMessages;
  readonly #subscriptions = new Set<WebSocketSubscription>();
  /** Starting operations by id; for each id the newest one. */
  readonly #starting = new Map<string, object>();
  #operationCount = 0;
  #viewer: Viewer | null = null;
  /** Epoch milliseconds at which an operation last started, or was found running by a ping. */
  #usedAt = Date.now();
  #isInitialised = false;
  /** Bytes of messages that are not counted by a rate yet. The next operation counts them. */
  #unpaidBytes = 0;
  #handleMessage: (text: string) => Promise<void> = async () => undefined;

  constructor(options: TransportOptions, socket: WebSocket, req: IncomingMessage) {
    this.#options = options;
    this.#socket = socket;
    this.#req = req;
    // ws closes the socket itself (invalid frame, message too large). Without a listener the error would end the
    // process.
    socket.on('error', () => {});
    this.#socketWriter = new WebSocketWriter(socket, req.socket);
    const handle = (text: string) => this.#receive(text);
    const { traffic } = options;
    this.#flow = new WebSocketFlow({ socket, req, traffic, viewer: () => this.#viewer, handle });
    this.#lastMessages = new LastMessages((reason) => forbid(socket, reason));
    this.#open();
  }

  #open(): void {
    const socket = this.#socket;
    const socketWriter = this.#socketWriter;
    const { endpoint, keepAliveMs } = this.#options;
    const heartbeat = new Heartbeat(socket);
    const pings = setInterval(() => {
      this.#closeIdle();
      heartbeat.beat();
      socketWriter.drained();
    }, keepAliveMs);
    const closed = this.#protocol().opened(
      {
        protocol: socket.protocol,
        send: (data) => this.#flow.send(data).then(socketWriter.drained),
        close: (code = 1000, reason = '') => closeWith(socket, code, reason),
        onMessage: (handle) => {
          this.#handleMessage = handle;
        },
      },
      {},
    );
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      // graphql-ws loses a stream whose id was completed and reused while the stream started.
      for (const subscription of this.#subscriptions) void subscription.return();
      closed(code, String(reason)).catch((error) => endpoint.log.error({ err: error }, 'WebSocket close failed'));
    });
  }

  async #receive(text: string): Promise<void> {
    if (!this.#isInitialised && text.length > MAX_INIT_LENGTH) {
      this.#socket.close(CloseCode.BadRequest, 'connection_init is too large');
      return;
    }
    if (!hasFewShapes(Buffer.from(text))) {
      closeWith(this.#socket, MESSAGE_TOO_BIG, TOO_MANY_SHAPES);
      return;
    }
    this.#unpaidBytes += text.length;
    let message: string;
    try {
      message = exactMessage(text);
    } catch (error) {
      this.#socket.close(CloseCode.BadRequest, `The message ${(error as Error).message}`);
      return;
    }
    try {
      await this.#lastMessages.handle(this.#handleMessage(message));
    } catch (error) {
      const requestId = this.#req.headers['x-request-id'];
      this.#options.endpoint.log.error({ err: error, requestId }, 'WebSocket message failed');
      // The fault may be of this moment, as while the service ends. Clients reconnect after 1013 and not after 4500.
      closeWith(this.#socket, TRY_AGAIN_LATER, 'Internal server error');
    }
  }

  #closeIdle(): void {
    if (this.#operationCount > 0) this.#usedAt = Date.now();
    else if (this.#viewer === null && Date.now() - this.#usedAt >= this.#options.anonymousIdleMs) {
      // Clients do not reconnect after this code.
      this.#socket.close(CloseCode.Unauthorized, 'No credentials and no operation');
    }
  }

  #protocol() {
    return makeServer<Record<string, unknown>>({
      connectionInitWaitTimeout: INIT_TIMEOUT_MS,
      onConnect: ({ connectionParams }) => this.#connect(connectionParams),
      onSubscribe: ({ connectionParams }, id, payload) => this.#subscribe(id, payload, connectionParams),
      onError: (_context, _id, _payload, errors) =>
        errors.map((error) => (error instanceof Refusal ? error.publicError : error.toJSON())),
      execute: (args) => (args as Execution).result as never,
      subscribe: (args) => (args as Execution).result as never,
    });
  }

  async #connect(params: ConnectionParams | undefined): Promise<boolean> {
    this.#isInitialised = true;
    try {
      const context = await this.#options.contextFor(factsOf(this.#req, authorizationOf(params)));
      this.#viewer = context.viewer;
      this.#closeWithCredentials(context);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#options.endpoint.log.count?.(error.code);
      // Clients reconnect after 1013 and not after 4403.
      if (error.code === 'RATE_LIMITED') closeWith(this.#socket, TRY_AGAIN_LATER, error.message);
      else forbid(this.#socket, error.message);
      return false;
    }
  }

  #closeWithCredentials({ viewer, services }: RequestContext): void {
    const socket = this.#socket;
    if (viewer === null || socket.readyState !== socket.OPEN) return;
    const end = ({ message }: ServiceError) => this.#lastMessages.closeAfter(message);
    socket.once('close', services.auth.guards.onCredentialEnd(viewer, end));
  }

  async #subscribe(
    id: string,
    payload: unknown,
    params: ConnectionParams | undefined,
  ): Promise<Execution | readonly Refusal[]> {
    if (id.length > MAX_ID) {
      this.#socket.close(CloseCode.BadRequest, 'The id of an operation is too long');
      return NEVER();
    }
    const start = {};
    this.#starting.set(id, start);
    const started = await this.#start(id, payload, params);
    if (this.#starting.get(id) === start) {
      this.#starting.delete(id);
      return started;
    }
    // Completed while it started, and its id reused. graphql-ws would take its end for that of the new operation.
    if ('result' in started && started.result instanceof WebSocketSubscription) void started.result.return();
    return NEVER();
  }

  async #start(
    id: string,
    payload: unknown,
    params: ConnectionParams | undefined,
  ): Promise<Execution | readonly Refusal[]> {
    const { endpoint, contextFor } = this.#options;
    const errorContext = { requestId: String(this.#req.headers['x-request-id']), log: endpoint.log };
    if (this.#operationCount >= MAX_OPERATIONS) {
      const info = { limit: MAX_OPERATIONS, actual: this.#operationCount + 1 };
      const message = `More than ${MAX_OPERATIONS} operations run on this connection: complete some or open another one`;
      return [new Refusal(publicError(new ServiceError('RATE_LIMITED', message, { info }), errorContext))];
    }
    this.#operationCount += 1;
    this.#usedAt = Date.now();
    try {
      const context = await contextFor(factsOf(this.#req, authorizationOf(params)));
      const bytes = this.#unpaidBytes;
      this.#unpaidBytes = 0;
      endpoint.rates.body?.(context, bytes);
      const { queryTurn } = this.#flow;
      const response = await endpoint.start(payload, context, { queryTurn, toText: true });
      if (response instanceof LiveResults) {
        return execution('subscription', endpoint, this.#openSubscription(id, response));
      }
      this.#operationCount -= 1;
      const { errors, data } = response.result;
      if (errors && data === undefined) return errors.map((error) => new Refusal(error));
      return execution('query', endpoint, this.#written(nextMessage(id, textOf(response))));
    } catch (error) {
      this.#operationCount -= 1;
      // The error message is sent before this runs.
      if (error instanceof ServiceError && error.code !== 'RATE_LIMITED') {
        setImmediate(() => forbid(this.#socket, error.message));
      }
      return [new Refusal(publicError(error, errorContext))];
    }
  }

  /** For graphql-ws a stream without values, because it would serialise a result: 2 ms for the one of the schema. */
  // biome-ignore lint/correctness/useYield: see above.
  async *#written(text: string): AsyncGenerator<never> {
    await this.#flow.send(text).then(this.#socketWriter.drained);
  }

  #openSubscription(id: string, results: LiveResults): WebSocketSubscription {
    const socket = this.#socket;
    const subscription = new WebSocketSubscription({
      id,
      results,
      socketWriter: this.#socketWriter,
      sharing: this.#options.endpoint.sharing,
      onEnd: (failure) => {
        this.#subscriptions.delete(subscription);
        this.#operationCount -= 1;
        if (failure !== null && this.#endsConnection(failure)) forbid(socket, failure.message);
      },
    });
    this.#subscriptions.add(subscription);
    if (socket.readyState !== socket.OPEN) void subscription.return();
    return subscription;
  }

  /** Credentials that ended close the connection. A missing permission closes it only if no other operation runs. */
  #endsConnection({ extensions: { code } }: PublicError): boolean {
    return code === 'UNAUTHORIZED' || (code === 'NOT_ALLOWED' && this.#operationCount === 0);
  }
}

function forbid(socket: WebSocket, reason: string): void {
  closeWith(socket, CloseCode.Forbidden, reason);
}

/** Truncates the reason to the size of a close frame (RFC 6455 5.5: 125 bytes, two of them for the code). */
function closeWith(socket: WebSocket, code: number, reason: string): void {
  // In streaming mode the decoder omits a character that is cut in the middle.
  const text = new TextDecoder().decode(Buffer.from(reason).subarray(0, 123), { stream: true });
  socket.close(code, text);
}

/** An error for the protocol's error message, with the form that the caller may read. */
class Refusal extends GraphQLError {
  readonly publicError: PublicError;

  constructor(error: PublicError) {
    super(error.message);
    this.publicError = error;
  }
}

/** Arguments for graphql-ws that contain the result instead of something to execute. */
interface Execution extends ExecutionArgs {
  readonly result: AsyncIterable<never>;
}

function execution(kind: keyof typeof PLACEHOLDER, endpoint: Endpoint, result: AsyncIterable<never>): Execution {
  return { schema: endpoint.operations.schema, document: PLACEHOLDER[kind], contextValue: null, result };
}

const nextMessage = (id: string, payload: string) => `{"id":${JSON.stringify(id)},"type":"next","payload":${payload}}`;

function authorizationOf(params: ConnectionParams | undefined): string | undefined {
  const { authorization, Authorization, token } = params ?? {};
  if (typeof authorization === 'string') return authorization;
  if (typeof Authorization === 'string') return Authorization;
  return typeof token === 'string' ? `Bearer ${token}` : undefined;
}

/** graphql-ws accepts a parsed message, and refuses a text that is not JSON. Errors: RangeError, as parseExactJson. */
function exactMessage(text: string): string {
  try {
    return parseExactJson(text) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
