/**
 * The graph on a node:http server. `handle` responds to every request and never throws; the caller decides which paths
 * it gets.
 *
 * Cross-site requests: the session cookie is accepted from pages of this service only (`SessionCookie`), bodies must be
 * JSON (which a browser sends to another origin only after a preflight request), cross-site GET requests are refused,
 * and only `corsOrigins` may read responses or open WebSockets.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GraphQLSchema } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import { JSON_TYPE } from '../http/accept.ts';
import { identify } from '../http/request-id.ts';
import { Traffic } from '../http/traffic.ts';
import { type ContextFor, Endpoint, type Rates } from './endpoint.ts';
import { accepted, isJsonType, type MediaType, writeResponse } from './http.ts';
import { serveJsonPost } from './json-post.ts';
import type { GraphqlLimits } from './limits.ts';
import { Operations } from './operations.ts';
import type { OperationLog } from './public-error.ts';
import { WebSocketTransport } from './websocket.ts';
import type { YogaServer } from './yoga/yoga-server.ts';

export interface GraphqlServerOptions {
  readonly schema: GraphQLSchema;
  readonly contextFor: ContextFor;
  readonly log: OperationLog;
  readonly limits?: GraphqlLimits;
  /** See `OperationsOptions`. */
  readonly preparationMsPerSecond?: number;
  readonly introspection?: 'signed-in' | 'always';
  readonly onIntrospectionRefused?: (context: RequestContext, error: ServiceError) => void;
  /** Maximum size of a body or WebSocket message in bytes. Default: 1,000,000. */
  readonly maxBodyBytes?: number;
  /** Further origins (`https://app.example.com`) whose pages may use the graph. Default: none. */
  readonly corsOrigins?: readonly string[];
  /** Interval between WebSocket pings, and between comments of event streams, in milliseconds. Default: 12,000. */
  readonly keepAliveMs?: number;
  /** Maximum time of a WebSocket without credentials and operations, in milliseconds. Default: 30,000. */
  readonly anonymousIdleMs?: number;
  /** Budgets of bytes in transit. Default: budgets of this server alone. */
  readonly traffic?: Traffic;
  readonly rates?: Rates;
}

export function createGraphqlServer({
  schema,
  contextFor,
  log,
  limits,
  preparationMsPerSecond,
  introspection = 'signed-in',
  onIntrospectionRefused,
  maxBodyBytes = 1_000_000,
  corsOrigins = [],
  keepAliveMs = 12_000,
  anonymousIdleMs = 30_000,
  traffic = new Traffic(),
  rates = {},
}: GraphqlServerOptions) {
  const operations = new Operations({
    schema,
    introspection,
    onIntrospectionRefused: (context, error) => onIntrospectionRefused?.(context as RequestContext, error),
    ...(limits && { limits }),
    preparationMsPerSecond,
  });
  const endpoint = new Endpoint(operations, log, rates);
  const origins = new Set(corsOrigins);
  const options = { endpoint, maxBodyBytes, traffic, contextFor, keepAliveMs, anonymousIdleMs };
  const webSockets = new WebSocketTransport(options);
  // Loaded on demand: Yoga is a fifth of all modules. `serve` loads them after the start.
  let loading: Promise<YogaServer> | null = null;
  const loadYoga = () => {
    loading ??= import('./yoga/yoga-server.ts').then(({ createYogaServer }) => createYogaServer(options, origins));
    return loading;
  };
  const serveByYoga = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    try {
      if (!URL.canParse(`http://${req.headers.host}`)) throw new ServiceError('INVALID', 'Host is not a valid name');
      await (await loadYoga()).handle(req, res);
    } catch (error) {
      writeResponse(res, endpoint.refusal(error, String(req.headers['x-request-id'])), JSON_TYPE, traffic);
    }
  };

  return {
    get webSocketCount() {
      return webSockets.connections;
    },
    handle(req: IncomingMessage, res: ServerResponse): void {
      res.setHeader('x-request-id', identify(req));
      const type = jsonPostType(req, origins);
      if (type === null) void serveByYoga(req, res);
      else serveJsonPost(req, res, type, options);
    },
    /** Serves any request of /graphql without a socket of this service. `address`: that of the client. */
    async fetch(request: Request, { address }: { readonly address: string }): Promise<Response> {
      return (await loadYoga()).fetch(request, address);
    },
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
      identify(req);
      const { origin } = req.headers;
      if (origin !== undefined && !origins.has(origin) && !isOwnOrigin(origin, req.headers.host)) {
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
        return;
      }
      webSockets.upgrade(req, socket, head);
    },
    /** Closes all WebSockets. HTTP responses in progress are those of the HTTP server. */
    close: () => webSockets.close(),
  };
}

const isOwnOrigin = (origin: string, host: string | undefined) => URL.canParse(origin) && new URL(origin).host === host;

/** The media type of the response to a plain JSON POST. `null`: Yoga serves the request. */
function jsonPostType({ method, headers }: IncomingMessage, origins: ReadonlySet<string>): MediaType | null {
  const { accept, origin, 'content-type': type, 'content-encoding': encoding } = headers;
  if (method !== 'POST' || !isJsonType(type, encoding)) return null;
  // Yoga allows pages of these origins to read the response.
  if (origin !== undefined && origins.has(origin)) return null;
  const { type: answer, events } = accepted(accept);
  return events === 'NONE' ? answer : null;
}
