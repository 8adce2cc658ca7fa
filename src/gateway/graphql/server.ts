/**
 * The graph on a node:http server: HTTP on one path (short road, event streams and Yoga) and graphql-transport-ws on its upgrades.
 *
 * `handle` answers every request it is given and never throws; the caller decides which paths it is given. A request id is
 * taken from `X-Request-Id` or made, told to the context in `headers['x-request-id']`, echoed, and named by INTERNAL_ERROR.
 *
 * Other sites: no cookies are used, bodies must be JSON (which a browser sends to another origin only after a preflight),
 * GET refuses what a browser calls cross-site, and only origins in `corsOrigins` may read answers or open WebSockets.
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
import { acceptedType, EVENT_STREAM, isJsonBody, JSON_TYPE, writeAnswer, writeRefusal } from './http.ts';
import type { GraphqlLimits } from './limits.ts';
import { eventStreamRoad } from './live/event-stream-road.ts';
import { Operations } from './operations.ts';
import { type ErrorLog, publicError } from './public-error.ts';
import { shortRoad } from './short-road.ts';
import { WebSocketRoad } from './websocket.ts';
import type { YogaRoad } from './yoga.ts';

export interface GraphqlServerOptions {
  readonly schema: GraphQLSchema;
  readonly contextFor: ContextFor;
  readonly log: ErrorLog;
  readonly limits?: GraphqlLimits;
  /** See `OperationsOptions`. */
  readonly preparationMsPerSecond?: number;
  readonly introspection?: 'signed-in' | 'always';
  /** Told of each refusal of it. */
  readonly onIntrospectionRefused?: (context: RequestContext, error: ServiceError) => void;
  /** Default 1,000,000. Also the largest WebSocket message. */
  readonly maxBodyBytes?: number;
  /** Origins (`https://app.example.com`) whose pages may use the graph. Default: none but our own. */
  readonly corsOrigins?: readonly string[];
  /** Default `/graphql`. */
  readonly path?: string;
  /** Between WebSocket pings, and comments of event streams, in milliseconds. Default 12,000. */
  readonly keepAliveMs?: number;
  /** How long a WebSocket may stay without credentials and without an operation, in milliseconds. Default 30,000. */
  readonly anonymousIdleMs?: number;
  /** Budgets of bytes under way. Default: budgets of its own. */
  readonly traffic?: Traffic;
  /** Default: no limits. */
  readonly rates?: Rates;
}

export interface GraphqlServer {
  readonly operations: Operations;
  handle(req: IncomingMessage, res: ServerResponse): void;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** WebSockets that are open now. */
  readonly webSocketCount: number;
  /** Ends WebSockets. HTTP answers in flight belong to the HTTP server. */
  close(): Promise<void>;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

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
  path = '/graphql',
  keepAliveMs = 12_000,
  anonymousIdleMs = 30_000,
  traffic = new Traffic(),
  rates = {},
}: GraphqlServerOptions): GraphqlServer {
  const operations = new Operations({
    schema,
    introspection,
    onIntrospectionRefused: (context, error) => onIntrospectionRefused?.(context as RequestContext, error),
    ...(limits && { limits }),
    preparationMsPerSecond,
  });
  const endpoint = new Endpoint(operations, log, rates);
  // A fifth of all modules, and most services are never asked by GET.
  let yogaRoad: Promise<YogaRoad> | null = null;
  const loadYogaRoad = async () =>
    (await import('./yoga.ts')).createYogaRoad({ endpoint, maxBodyBytes, path, traffic });
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
  const shortRoadOptions = { endpoint, maxBodyBytes, traffic, contextFor: contextOf };
  const streamOptions = { ...shortRoadOptions, keepAliveMs };
  const webSockets = new WebSocketRoad({
    endpoint,
    contextFor: contextOf,
    maxMessageBytes: maxBodyBytes,
    keepAliveMs,
    anonymousIdleMs,
    traffic,
  });

  const serveByYoga = async (req: IncomingMessage, res: ServerResponse) => {
    let context: RequestContext;
    try {
      context = await contextOf(req);
    } catch (error) {
      const place = { requestId: String(req.headers['x-request-id']), log };
      const answer = { result: { errors: [publicError(error, place)] }, wellFormed: false };
      writeAnswer(res, answer, acceptedType(req.headers.accept) ?? JSON_TYPE);
      return;
    }
    yogaRoad ??= loadYogaRoad();
    await (await yogaRoad)(req, res, context);
  };

  return {
    operations,
    get webSocketCount() {
      return webSockets.connections;
    },
    handle(req, res) {
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
          writeRefusal(res, 'INVALID', 'Send application/json in UTF-8', 415);
        } else if (streams) {
          run(eventStreamRoad(req, res, streamOptions), req, res, log);
        } else if (type === null) {
          writeRefusal(res, 'INVALID', 'Accept application/json or application/graphql-response+json', 406);
        } else {
          shortRoad(req, res, type, shortRoadOptions);
        }
      } else if (req.method !== 'GET') {
        writeRefusal(res, 'METHOD_NOT_ALLOWED', 'Use POST, or GET for queries');
      } else if (isCrossSite(req, origins)) {
        writeRefusal(res, 'NOT_ALLOWED', 'Another site may not ask by GET');
      } else if (streams) {
        run(eventStreamRoad(req, res, streamOptions), req, res, log);
      } else if (accept?.includes('text/html') === true) {
        run(graphiql.serve(res), req, res, log);
      } else if (type === null) {
        writeRefusal(res, 'INVALID', 'Accept application/json or application/graphql-response+json', 406);
      } else {
        run(serveByYoga(req, res), req, res, log);
      }
    },
    upgrade(req, socket, head) {
      identify(req);
      const { origin } = req.headers;
      if (origin !== undefined && !origins.has(origin) && hostOf(origin) !== req.headers.host) {
        socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
        return;
      }
      webSockets.upgrade(req, socket, head);
    },
    close: () => webSockets.close(),
  };
}

/** The caller's id for this request, or a new one, in the place where everybody looks for it. */
function identify(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
  const id = randomUUID();
  req.headers['x-request-id'] = id;
  return id;
}

function run(work: Promise<void>, req: IncomingMessage, res: ServerResponse, log: ErrorLog): void {
  work.catch((error) => {
    const place = { requestId: String(req.headers['x-request-id']), log };
    writeAnswer(res, { result: { errors: [publicError(error, place)] }, wellFormed: false }, JSON_TYPE);
    if (!res.writableEnded) res.destroy();
  });
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

/** https://www.w3.org/TR/fetch-metadata/: browsers say where a request comes from; other programs say nothing. */
function isCrossSite({ headers }: IncomingMessage, origins: ReadonlySet<string>): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  if (headers['sec-fetch-mode'] === 'navigate') return false;
  return headers.origin === undefined || !origins.has(headers.origin);
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
