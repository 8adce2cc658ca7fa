/**
 * graphql-transport-ws on the HTTP server's upgrade.
 *
 * Credentials come with `connection_init` (`authorization`, `Authorization` or `token`), else with the upgrade's headers;
 * unknown ones close the socket with 4403. Every operation gets a fresh context, so rights are never older than it. When a
 * running subscription loses its rights, its last event says so. It ends alone while other operations run over the same socket;
 * where none does, or the credential itself has ended, the socket closes with 4403. The close frame says why.
 *
 * Results of subscriptions go past the protocol library straight to the socket, see WebSocketChannel.
 *
 * Bounds: `maxMessageBytes` in, `maxOperations` at once per socket, and those of WebSocketFlow. Subscriptions write while the
 * socket takes it, see WebSocketOutlet; a socket that answers none of three pings in a row is closed. One without credentials and
 * without an operation is closed with 4401 after `anonymousIdleMs`. A socket stores little of its client's texts: MAX_INIT_LENGTH
 * characters and, for each operation, MAX_ID characters.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, parse } from 'graphql';
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { Traffic } from '../http/traffic.ts';
import type { Endpoint } from './endpoint.ts';
import { Heartbeat } from './live/heartbeat.ts';
import { LiveResults } from './live/live-results.ts';
import { WebSocketChannel } from './live/web-socket-channel.ts';
import { WebSocketFlow } from './live/web-socket-flow.ts';
import { WebSocketOutlet } from './live/web-socket-outlet.ts';
import { type PublicError, type PublicResult, publicError } from './public-error.ts';

export interface WebSocketRoadOptions {
  readonly endpoint: Endpoint;
  /** Makes a context from the upgrade request, and the authorization that `connection_init` brought. */
  readonly contextFor: (
    req: IncomingMessage,
    authorization: string | undefined,
  ) => RequestContext | Promise<RequestContext>;
  readonly maxMessageBytes: number;
  readonly traffic: Traffic;
  /** Default 100. */
  readonly maxOperations?: number;
  /** Between pings, in milliseconds. Default 12,000. */
  readonly keepAliveMs?: number;
  /** After this without credentials and without an operation a socket is closed, at the next ping. Default 30,000 ms. */
  readonly anonymousIdleMs?: number;
}

/** The operations of one socket. */
interface Running {
  count: number;
  /** Caller whose credentials came with it; `null`: none came, or not yet. */
  viewer: Viewer | null;
  /** Epoch milliseconds: when the last operation began, or a ping found one running. */
  usedAt: number;
  readonly channels: Set<WebSocketChannel>;
  /** Operations that have not begun yet, by their ids: the newest of each. */
  readonly starting: Map<string, object>;
  /** Whether connection_init has come. */
  isBegun: boolean;
  /** Bytes of messages that no rate counts yet: the next operation pays for them. */
  unpaidBytes: number;
}

/** What an operation is started with. */
interface Start {
  readonly id: string;
  readonly payload: unknown;
  readonly running: Running;
  readonly extra: Extra;
  readonly connectionParams: Readonly<Record<string, unknown>> | undefined;
}

interface Extra {
  readonly req: IncomingMessage;
  readonly socket: WebSocket;
  readonly outlet: WebSocketOutlet;
}

/** Characters of messages before and with connection_init, whose payload is stored for each operation that follows. */
const MAX_INIT_LENGTH = 16_384;
/** Close code (RFC 6455 7.4.1 and the registry that it founds). */
const TRY_AGAIN_LATER = 1013;
/** Every result names its operation. */
const MAX_ID = 1_000;
/** Waits for nothing: who holds it is forgotten with it. */
const NEVER: () => Promise<never> = () => new Promise(() => undefined);
/** Any valid document: the protocol library wants to see one, what runs is the endpoint's. */
const PLACEHOLDER = { query: parse('query { __typename }'), subscription: parse('subscription { __typename }') };

export class WebSocketRoad {
  readonly #options: WebSocketRoadOptions;
  readonly #server: WebSocketServer;

  constructor(options: WebSocketRoadOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: options.maxMessageBytes,
      handleProtocols: choose,
    });
  }

  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(req, socket, head, (opened) => this.#serve(opened, req));
  }

  /** Open now. */
  get connections(): number {
    return this.#server.clients.size;
  }

  /** Says goodbye to every client, and cuts who does not answer within a second. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    const { clients } = this.#server;
    for (const client of clients) client.close(1001, 'Going away');
    const timer = setTimeout(() => {
      for (const client of clients) client.terminate();
    }, 1_000);
    await Promise.all([...clients].map((client) => new Promise((resolve) => client.once('close', resolve))));
    clearTimeout(timer);
    await closed;
  }

  #serve(socket: WebSocket, req: IncomingMessage): void {
    const { endpoint, traffic, keepAliveMs = 12_000, anonymousIdleMs = 30_000 } = this.#options;
    // ws closes the socket itself (bad frame, message too big); without a listener the error would end the process.
    socket.on('error', () => {});
    const outlet = new WebSocketOutlet(socket, req.socket);
    const running: Running = {
      count: 0,
      viewer: null,
      usedAt: Date.now(),
      channels: new Set(),
      starting: new Map(),
      isBegun: false,
      unpaidBytes: 0,
    };
    let handleMessage: (text: string) => Promise<void> = async () => undefined;
    const flow = new WebSocketFlow({
      socket,
      req,
      traffic,
      viewer: () => running.viewer,
      handle: async (text) => {
        if (!running.isBegun && text.length > MAX_INIT_LENGTH) {
          socket.close(CloseCode.BadRequest, 'connection_init is too large');
          return;
        }
        running.unpaidBytes += text.length;
        try {
          await handleMessage(text);
        } catch (error) {
          endpoint.log.error({ err: error, requestId: req.headers['x-request-id'] }, 'WebSocket message failed');
          socket.close(CloseCode.InternalServerError, 'Internal server error');
        }
      },
    });
    const heartbeat = new Heartbeat(socket);
    const pings = setInterval(() => {
      if (running.count > 0) running.usedAt = Date.now();
      else if (running.viewer === null && Date.now() - running.usedAt >= anonymousIdleMs) {
        // Not a code that clients open a new socket after.
        socket.close(CloseCode.Unauthorized, 'Nobody signed in, and nothing runs');
      }
      heartbeat.beat();
      outlet.drained();
    }, keepAliveMs);
    const closed = this.#protocol(running).opened(
      {
        protocol: socket.protocol,
        send: (data) => flow.send(data).then(outlet.drained),
        close: (code = 1000, reason = '') => closeWith(socket, code, reason),
        onMessage: (handle) => {
          handleMessage = handle;
        },
      },
      { req, socket, outlet },
    );
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      // The protocol library forgets a stream whose id was completed and used again while it started.
      for (const channel of running.channels) void channel.return();
      closed(code, String(reason)).catch((error) => endpoint.log.error({ err: error }, 'WebSocket close failed'));
    });
  }

  #protocol(running: Running) {
    const { contextFor } = this.#options;
    return makeServer<Record<string, unknown>, Extra>({
      onConnect: async ({ extra, connectionParams }) => {
        running.isBegun = true;
        try {
          const { viewer } = await contextFor(extra.req, authorizationOf(connectionParams));
          running.viewer = viewer;
          return true;
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          // Clients connect again after this code, and not after 4403.
          if (error.code === 'RATE_LIMITED') closeWith(extra.socket, TRY_AGAIN_LATER, error.message);
          else forbid(extra.socket, error.message);
          return false;
        }
      },
      onSubscribe: async ({ extra, connectionParams }, id, payload) => {
        if (id.length > MAX_ID) {
          extra.socket.close(CloseCode.BadRequest, 'The id of an operation is too long');
          return NEVER();
        }
        const start = {};
        running.starting.set(id, start);
        const answer = await this.#start({ id, payload, running, extra, connectionParams });
        if (running.starting.get(id) === start) {
          running.starting.delete(id);
          return answer;
        }
        // Completed, and its id used again, while it started. The protocol library would take its end for the other's.
        if ('result' in answer && answer.result instanceof WebSocketChannel) void answer.result.return();
        return NEVER();
      },
      onNext: (_context, _id, _payload, _args, result) => result as ExecutionResult as never,
      onError: (_context, _id, _payload, errors) =>
        errors.map((error) => (error instanceof Refusal ? error.shown : error.toJSON())),
      execute: (args) => (args as Execution).result as never,
      subscribe: (args) => (args as Execution).result as never,
    });
  }

  /** Runs an operation, or says why not. */
  async #start({ id, payload, running, extra, connectionParams }: Start): Promise<Execution | Refusal[]> {
    const { endpoint, contextFor, maxOperations = 100 } = this.#options;
    const { req, socket, outlet } = extra;
    const place = { requestId: String(req.headers['x-request-id']), log: endpoint.log };
    if (running.count >= maxOperations) {
      const info = { limit: maxOperations, actual: running.count + 1 };
      const error = new ServiceError('RATE_LIMITED', 'Too many operations on one connection', { info });
      return [new Refusal(publicError(error, place))];
    }
    running.count += 1;
    running.usedAt = Date.now();
    try {
      const context = await contextFor(req, authorizationOf(connectionParams));
      const bytes = running.unpaidBytes;
      running.unpaidBytes = 0;
      endpoint.rates.body?.(context, bytes);
      const answer = await endpoint.start(payload, context);
      if (answer instanceof LiveResults) {
        const channel = new WebSocketChannel({
          id,
          results: answer,
          outlet,
          sharing: endpoint.sharing,
          onEnd: (failure) => {
            running.channels.delete(channel);
            running.count -= 1;
            if (failure !== null && endsConnection(failure, running)) forbid(socket, failure.message);
          },
        });
        running.channels.add(channel);
        if (socket.readyState !== socket.OPEN) void channel.return();
        return execution('subscription', endpoint, channel);
      }
      running.count -= 1;
      const { errors, data } = answer.result;
      if (errors && data === undefined) return errors.map((error) => new Refusal(error));
      return execution('query', endpoint, answer.result);
    } catch (error) {
      running.count -= 1;
      // The error message is sent before this runs.
      if (error instanceof ServiceError && error.code !== 'RATE_LIMITED') {
        setImmediate(() => forbid(socket, error.message));
      }
      return [new Refusal(publicError(error, place))];
    }
  }
}

/** Without the credential nothing may go on; a right that one subscription needed is no loss to the others. */
function endsConnection({ extensions: { code } }: PublicError, { count }: Running): boolean {
  return code === 'UNAUTHORIZED' || (code === 'NOT_ALLOWED' && count === 0);
}

function forbid(socket: WebSocket, why: string): void {
  closeWith(socket, CloseCode.Forbidden, why);
}

/** Says why, as far as a close frame has room (RFC 6455 5.5: 125 bytes, two of them for the code). */
function closeWith(socket: WebSocket, code: number, why: string): void {
  // Streaming, so that a character which is cut in the middle is left out.
  const reason = new TextDecoder().decode(Buffer.from(why).subarray(0, 123), { stream: true });
  socket.close(code, reason);
}

/** An error message of the protocol, with what the caller shall read. */
class Refusal extends GraphQLError {
  readonly shown: PublicError;

  constructor(shown: PublicError) {
    super(shown.message);
    this.shown = shown;
  }
}

/** The protocol library executes what it is given; here it is given the result. */
interface Execution extends ExecutionArgs {
  readonly result: PublicResult | WebSocketChannel;
}

function execution(
  kind: keyof typeof PLACEHOLDER,
  endpoint: Endpoint,
  result: PublicResult | WebSocketChannel,
): Execution {
  return { schema: endpoint.operations.schema, document: PLACEHOLDER[kind], contextValue: null, result };
}

function authorizationOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const { authorization, Authorization, token } = params ?? {};
  if (typeof authorization === 'string') return authorization;
  if (typeof Authorization === 'string') return Authorization;
  return typeof token === 'string' ? `Bearer ${token}` : undefined;
}

const choose = (protocols: Set<string>): string | false => handleProtocols(protocols);
