/**
 * The graph on a node:http server. `handle` responds to every request and never throws; the caller decides which paths
 * it gets.
 *
 * Cross-site requests: no cookies are used, bodies must be JSON (which a browser sends to another origin only after a
 * preflight request), cross-site GET requests are refused, and only `corsOrigins` may read responses or open
 * WebSockets.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { GraphQLSchema } from 'graphql';
import type { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import { Traffic } from '../http/traffic.ts';
import { type ContextFor, Endpoint, type Rates } from './endpoint.ts';
import { GraphiqlPage } from './graphiql.ts';
import { acceptedType, EVENT_STREAM, isJsonBody, JSON_TYPE, writeErrorResponse, writeResponse } from './http.ts';
import { serveJsonPost } from './json-post.ts';
import type { GraphqlLimits } from './limits.ts';
import { serveEventStream } from './live/event-stream.ts';
import { Operations } from './operations.ts';
import type { ErrorLog } from './public-error.ts';
import { WebSocketTransport } from './websocket.ts';
import type { YogaHandler } from './yoga.ts';

export interface GraphqlServerOptions {
  readonly schema: GraphQLSchema;
  readonly contextFor: ContextFor;
  readonly log: ErrorLog;
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

const REQUEST_ID = /^[\w.:-]{1,128}$/;
const NOT_ACCEPTABLE = 'Accept must allow application/json or application/graphql-response+json';

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
  // Loaded on demand: Yoga is a fifth of all modules, and most services never get GET requests.
  let yogaHandler: Promise<YogaHandler> | null = null;
  const loadYogaHandler = async () => (await import('./yoga.ts')).createYogaHandler(options);
  const graphiql = new GraphiqlPage();
  const origins = new Set(corsOrigins);
  const contextOf = (req: IncomingMessage, authorization?: string): RequestContext | Promise<RequestContext> => {
    const own = req.headers as Record<string, string | undefined>;
    return contextFor({
      headers: authorization === undefined ? own : { ...own, authorization },
      address: req.socket.remoteAddress ?? '',
      url: req.url ?? '',
    });
  };
  const options = { endpoint, maxBodyBytes, traffic, contextFor: contextOf, keepAliveMs, anonymousIdleMs };
  const webSockets = new WebSocketTransport(options);
  const run = (work: Promise<void>, req: IncomingMessage, res: ServerResponse): void => {
    work.catch((error) => {
      writeResponse(res, endpoint.refusal(error, req), JSON_TYPE);
      if (!res.writableEnded) res.destroy();
    });
  };
  const serveByYoga = async (req: IncomingMessage, res: ServerResponse) => {
    let context: RequestContext;
    try {
      context = await contextOf(req);
    } catch (error) {
      writeResponse(res, endpoint.refusal(error, req), acceptedType(req.headers.accept) ?? JSON_TYPE);
      return;
    }
    yogaHandler ??= loadYogaHandler();
    await (await yogaHandler)(req, res, context);
  };

  return {
    operations,
    get webSocketCount() {
      return webSockets.connections;
    },
    handle(req: IncomingMessage, res: ServerResponse): void {
      res.setHeader('x-request-id', identify(req));
      const { origin, accept } = req.headers;
      if (origin !== undefined) allowOrigin(res, origin, origins);
      if (req.method === 'OPTIONS') {
        preflight(res);
        return;
      }
      const type = acceptedType(accept);
      const streams = accept?.includes(EVENT_STREAM) === true;
      if (req.method === 'POST') {
        if (!isJsonBody(req)) {
          writeErrorResponse(res, 'INVALID', 'The body must be application/json in UTF-8', 415);
        } else if (streams) {
          run(serveEventStream(req, res, options), req, res);
        } else if (type === null) {
          writeErrorResponse(res, 'INVALID', NOT_ACCEPTABLE, 406);
        } else {
          serveJsonPost(req, res, type, options);
        }
      } else if (req.method !== 'GET') {
        writeErrorResponse(res, 'METHOD_NOT_ALLOWED', 'The method is not allowed: use POST, or GET for queries');
      } else if (isCrossSite(req, origins)) {
        writeErrorResponse(res, 'NOT_ALLOWED', 'GET is not allowed for pages of other sites: use POST');
      } else if (streams) {
        run(serveEventStream(req, res, options), req, res);
      } else if (accept?.includes('text/html') === true) {
        run(graphiql.serve(res), req, res);
      } else if (type === null) {
        writeErrorResponse(res, 'INVALID', NOT_ACCEPTABLE, 406);
      } else {
        run(serveByYoga(req, res), req, res);
      }
    },
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
      identify(req);
      const { origin } = req.headers;
      if (origin !== undefined && !origins.has(origin) && hostOf(origin) !== req.headers.host) {
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
        return;
      }
      webSockets.upgrade(req, socket, head);
    },
    /** Closes all WebSockets. HTTP responses in progress are those of the HTTP server. */
    close: () => webSockets.close(),
  };
}

function identify(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
  const id = randomUUID();
  req.headers['x-request-id'] = id;
  return id;
}

function allowOrigin(res: ServerResponse, origin: string, origins: ReadonlySet<string>): void {
  res.setHeader('vary', 'Origin');
  if (!origins.has(origin)) return;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', 'X-Request-Id');
}

function preflight(res: ServerResponse): void {
  res.writeHead(204, {
    allow: 'GET, POST, OPTIONS',
    ...(res.hasHeader('access-control-allow-origin') && {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'Authorization, Content-Type, X-Request-Id',
      'access-control-max-age': '600',
    }),
  });
  res.end();
}

/** Reads the fetch metadata of browsers (https://www.w3.org/TR/fetch-metadata/). Other clients do not send it. */
function isCrossSite({ headers }: IncomingMessage, origins: ReadonlySet<string>): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  if (headers['sec-fetch-mode'] === 'navigate') return false;
  return headers.origin === undefined || !origins.has(headers.origin);
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
