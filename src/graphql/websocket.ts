/**
 * graphql-transport-ws on the HTTP server's upgrade.
 *
 * Credentials come with `connection_init` (`authorization`, `Authorization` or `token`), else with the upgrade's headers;
 * unknown ones close the socket with 4403. Every operation gets a fresh context, so rights are never older than it. When a
 * running subscription loses its rights, its last event says so and the socket closes with 4403.
 *
 * Bounds: `maxMessageBytes` in, `maxOperations` at once per socket, `MAX_BUFFERED_BYTES` out. A subscription reads its next
 * event when the last one has been written; a socket that takes nothing for two pings, or has more than the bound waiting
 * (answers to its own pings), is cut.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, parse } from 'graphql';
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { Endpoint, EventStream } from './endpoint.ts';
import { type PublicError, type PublicResult, publicError } from './public-error.ts';

export interface WebSocketRoadOptions {
  readonly endpoint: Endpoint;
  /** Makes a context from the upgrade request, and the authorization that `connection_init` brought. */
  readonly contextFor: (
    req: IncomingMessage,
    authorization: string | undefined,
  ) => RequestContext | Promise<RequestContext>;
  readonly maxMessageBytes: number;
  /** Default 100. */
  readonly maxOperations?: number;
  /** Between pings, in milliseconds. Default 12,000. */
  readonly keepAliveMs?: number;
}

/** The operations of one socket. */
interface Running {
  count: number;
  readonly streams: Set<EventStream>;
}

interface Extra {
  readonly req: IncomingMessage;
  readonly socket: WebSocket;
}

const MAX_BUFFERED_BYTES = 4_000_000;
const SENDS_PER_TURN = 16;
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
    const { endpoint, keepAliveMs = 12_000, maxOperations = 100 } = this.#options;
    // ws closes the socket itself (bad frame, message too big); without a listener the error would end the process.
    socket.on('error', () => {});
    let alive = true;
    const pings = setInterval(() => {
      if (!alive) socket.terminate();
      alive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    }, keepAliveMs);
    socket.on('pong', () => {
      alive = true;
    });

    const running: Running = { count: 0, streams: new Set() };
    let sent = 0;
    const closed = this.#protocol(running, maxOperations).opened(
      {
        protocol: socket.protocol,
        send: (data) =>
          new Promise((resolve) => {
            // A source that always has an event would keep the event loop from everything else, also from hearing that
            // this socket closed.
            const done = () => (++sent % SENDS_PER_TURN === 0 ? setImmediate(resolve) : resolve());
            if (socket.readyState === socket.OPEN) socket.send(data, done);
            else setImmediate(resolve);
          }),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (handle) =>
          socket.on('message', (data) => {
            if (socket.bufferedAmount > MAX_BUFFERED_BYTES) {
              socket.terminate();
              return;
            }
            handle(String(data)).catch((error) => {
              endpoint.log.error({ err: error, requestId: req.headers['x-request-id'] }, 'WebSocket message failed');
              socket.close(CloseCode.InternalServerError, 'Internal server error');
            });
          }),
      },
      { req, socket },
    );
    socket.once('close', (code, reason) => {
      clearInterval(pings);
      // The protocol library forgets a stream whose id was completed and used again while it started.
      for (const stream of running.streams) stream.return?.().catch(() => {});
      closed(code, String(reason)).catch((error) => endpoint.log.error({ err: error }, 'WebSocket close failed'));
    });
  }

  #protocol(running: Running, maxOperations: number) {
    const { endpoint, contextFor } = this.#options;
    return makeServer<Record<string, unknown>, Extra>({
      onConnect: async ({ extra, connectionParams }) => {
        try {
          await contextFor(extra.req, authorizationOf(connectionParams));
          return true;
        } catch (error) {
          if (error instanceof ServiceError) return false;
          throw error;
        }
      },
      onSubscribe: async ({ extra, connectionParams }, _id, payload) => {
        const forbid = () => setImmediate(() => extra.socket.close(CloseCode.Forbidden, 'Forbidden'));
        const place = { requestId: String(extra.req.headers['x-request-id']), log: endpoint.log };
        if (running.count >= maxOperations) {
          const info = { limit: maxOperations, actual: running.count + 1 };
          const error = new ServiceError('RATE_LIMITED', 'Too many operations on one connection', { info });
          return [new Refusal(publicError(error, place))];
        }
        running.count += 1;
        let counted = true;
        const done = () => {
          if (counted) running.count -= 1;
          counted = false;
        };
        try {
          const context = await contextFor(extra.req, authorizationOf(connectionParams));
          const answer = await endpoint.start(payload, context, (code) => {
            // The event that says why goes out first: it is on its way when this runs.
            if (code === 'NOT_ALLOWED' || code === 'UNAUTHORIZED') forbid();
          });
          if (Symbol.asyncIterator in answer)
            return execution('subscription', endpoint, counting(answer, running, done));
          done();
          const { errors, data } = answer.result;
          if (errors && data === undefined) return errors.map((error) => new Refusal(error));
          return execution('query', endpoint, answer.result);
        } catch (error) {
          done();
          if (error instanceof ServiceError) forbid();
          return [new Refusal(publicError(error, place))];
        }
      },
      onNext: (_context, _id, _payload, _args, result) => result as ExecutionResult as never,
      onError: (_context, _id, _payload, errors) =>
        errors.map((error) => (error instanceof Refusal ? error.shown : error.toJSON())),
      execute: (args) => (args as Execution).result as never,
      subscribe: (args) => (args as Execution).result as never,
    });
  }
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
  readonly result: PublicResult | EventStream;
}

function execution(kind: keyof typeof PLACEHOLDER, endpoint: Endpoint, result: PublicResult | EventStream): Execution {
  return { schema: endpoint.operations.schema, document: PLACEHOLDER[kind], contextValue: null, result };
}

function counting(source: EventStream, { streams }: Running, done: () => void): EventStream {
  const end = () => {
    streams.delete(stream);
    done();
  };
  const stream: EventStream = {
    async next() {
      const event = await source.next();
      if (event.done) end();
      return event;
    },
    async return() {
      end();
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
    async throw(error) {
      end();
      await source.return?.();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  streams.add(stream);
  return stream;
}

function authorizationOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const { authorization, Authorization, token } = params ?? {};
  if (typeof authorization === 'string') return authorization;
  if (typeof Authorization === 'string') return Authorization;
  return typeof token === 'string' ? `Bearer ${token}` : undefined;
}

const choose = (protocols: Set<string>): string | false => handleProtocols(protocols);
