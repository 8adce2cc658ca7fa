import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Connections, type RefusalReason } from './connections.ts';
import type { HttpHandler } from './cross-origin.ts';
import type { KnownHosts } from './known-hosts.ts';
import { listen } from './listen.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import { RequestsPerNetwork } from './requests-per-network.ts';
import { writeJson } from './text-body.ts';
import { Traffic } from './traffic.ts';

export type RequestKind = 'graphql' | 'rest';

export interface RequestMetrics {
  observe(kind: RequestKind, status: number, milliseconds: number): void;
}

interface HttpParts {
  readonly graphql: HttpHandler & {
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
  readonly rest: HttpHandler;
  readonly downloads?: Readonly<Record<string, HttpHandler>>;
  readonly auth?: HttpHandler;
  readonly metrics: RequestMetrics;
  readonly metricsEntry?: HttpHandler;
  /** Rejects while the service is not ready. */
  readonly ready: () => Promise<void>;
  /** Receives one line per request, at level debug. */
  readonly log?: RequestLog;
}

interface RequestLog {
  isLevelEnabled(level: string): boolean;
  debug(fields: object, text: string): void;
}

interface HttpServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Default: no bound but that of the process. Beyond it see `Connections`. */
  readonly maxConnections?: number;
  /** Maximum number of connections of one network; with `isBehindProxy`, of requests in progress. Default: no bound. */
  readonly maxConnectionsPerNetwork?: number;
  /** Whether all connections come from a proxy that forwards the caller's address. Default: false. */
  readonly isBehindProxy?: boolean;
  /** Called when connections were refused, at most once a minute. */
  readonly onRefused?: (reason: RefusalReason) => void;
  readonly stalledMs?: number;
  readonly traffic?: Traffic;
  readonly knownHosts?: KnownHosts;
}

interface HttpServer {
  readonly port: number;
  readonly connections: Pick<Connections, 'size' | 'stalledCount' | 'refusedCount'>;
  /** Sets the handlers. Until this is called, /healthz responds with 200 and every other path with 503. */
  readonly serve: (parts: HttpParts) => void;
  readonly close: () => Promise<void>;
}

/** Node's timeouts, in milliseconds. Slower clients would occupy connections without using them. */
const LIMITS = {
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
} as const;
/** Number of connections that Node accepts beyond `maxConnections`, so that a new one can replace an idle one. */
const SPARE_CONNECTIONS = 100;
const REFUSED_NOTICE_MS = 60_000;
const DRAIN_MS = 5_000;

/** Serves all paths on one port. It is opened first: a port in use stops the start before anything is created. */
export async function startHttpServer({
  host,
  port,
  maxConnections,
  maxConnectionsPerNetwork,
  isBehindProxy = false,
  onRefused,
  stalledMs,
  knownHosts,
  traffic = new Traffic(),
}: HttpServerOptions): Promise<HttpServer> {
  const responding = new Set<ServerResponse>();
  const connections = new Connections({
    max: maxConnections,
    maxPerNetwork: isBehindProxy ? undefined : maxConnectionsPerNetwork,
    onRefused: onRefused && atMostEvery(REFUSED_NOTICE_MS, onRefused),
    stalledMs,
  });
  const pipelined = new PipelinedRequests(traffic);
  const proxied =
    isBehindProxy && maxConnectionsPerNetwork !== undefined ? new RequestsPerNetwork(maxConnectionsPerNetwork) : null;
  let parts: HttpParts | null = null;
  let requestLog: RequestLog | null = null;
  let closed: Promise<void> | null = null;
  const start = (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket);
    if (connection !== undefined) connection.requests += 1;
    responding.add(res);
    // `close` is emitted once. `once` would allocate a wrapper for each request.
    res.on('close', () => {
      responding.delete(res);
      if (connection !== undefined) connection.requests -= 1;
    });
    if (proxied !== null && !enter(proxied, traffic.networkOf(req), res)) return;
    if (requestLog !== null) logRequest(req, res, requestLog);
    if (isMisdirected(req, knownHosts)) writeJson(res, 421, misdirected(req));
    else if (parts === null) respondWhileStarting(req, res);
    else dispatch(req, res, parts);
  };
  const server = createServer(LIMITS, (req, res) => {
    if (res.socket === null) pipelined.add(req, res, () => start(req, res));
    else start(req, res);
  });
  server.on('connection', (socket: Socket) => connections.add(socket));
  server.on('upgrade', (req, socket, head) => {
    // Node passes the socket without an error listener: a connection reset would end the process.
    socket.on('error', () => socket.destroy());
    if (isMisdirected(req, knownHosts)) refuseUpgrade(socket, '421 Misdirected Request', misdirected(req));
    else if (parts === null || pathOf(req) !== '/graphql') refuseUpgrade(socket, '404 Not Found');
    else if (proxied !== null && !enter(proxied, traffic.networkOf(req), socket)) {
      refuseUpgrade(socket, '429 Too Many Requests', TOO_MANY);
    } else {
      const connection = connections.get(req.socket);
      if (connection !== undefined) connection.isUpgraded = true;
      parts.graphql.upgrade(req, socket, head);
    }
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections + SPARE_CONNECTIONS;
  const notifyFull = atMostEvery(REFUSED_NOTICE_MS, () => onRefused?.('FULL'));
  server.on('drop', notifyFull);
  return {
    port: await listen(server, host, port),
    connections,
    serve: (given) => {
      parts = given;
      requestLog = given.log?.isLevelEnabled('debug') ? given.log : null;
    },
    close: () => {
      connections.close();
      closed ??= drain(server, responding, connections.sockets());
      return closed;
    },
  };
}

/** Probes are exempt: orchestrators send them with the address of a container or an internal name. */
function isMisdirected(req: IncomingMessage, knownHosts: KnownHosts | undefined): boolean {
  if (knownHosts === undefined || knownHosts.accepts(req.headers.host)) return false;
  const path = pathOf(req);
  return path !== '/healthz' && path !== '/readyz';
}

function misdirected({ headers: { host = '' } }: IncomingMessage) {
  const message =
    `Host: "${host.slice(0, 254)}" is not a name of this service. ` +
    'If it should be one, add it to the setting ALLOWED_HOSTS, or set PUBLIC_URL';
  return { message, code: 'UNKNOWN_HOST', status: 421 };
}

function refuseUpgrade(socket: Duplex, status: string, body?: object): void {
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  const type = body === undefined ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\n${type}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
}

const TOO_MANY = {
  message: 'Too many requests of your network are in progress; try again in 1 s',
  code: 'RATE_LIMITED',
  status: 429,
  info: { retryAfterSeconds: 1 },
} as const;

/** Counts a request until its response or connection closes, or refuses it beyond the bound of its network. */
function enter(proxied: RequestsPerNetwork, network: string, until: ServerResponse | Duplex): boolean {
  if (proxied.enter(network)) {
    until.on('close', () => proxied.leave(network));
    return true;
  }
  if (until instanceof ServerResponse) {
    until.setHeader('retry-after', '1');
    writeJson(until, 429, TOO_MANY);
  }
  return false;
}

function atMostEvery<Args extends unknown[]>(ms: number, notify: (...args: Args) => void): (...args: Args) => void {
  let notifiedAt = Number.NEGATIVE_INFINITY;
  return (...args) => {
    const now = performance.now();
    if (now - notifiedAt < ms) return;
    notifiedAt = now;
    notify(...args);
  };
}

function respondWhileStarting(req: IncomingMessage, res: ServerResponse): void {
  if (pathOf(req) === '/healthz') writeJson(res, 200, { status: 'ok' });
  else {
    res.setHeader('retry-after', '1');
    writeJson(res, 503, { message: 'The service is starting', code: 'STARTING', status: 503 });
  }
}

/** The line has no query string, which may contain secrets. Errors are logged with the same request id. */
function logRequest(req: IncomingMessage, res: ServerResponse, log: RequestLog): void {
  const start = performance.now();
  res.once('close', () => {
    const ms = Math.round((performance.now() - start) * 10) / 10;
    const fields = { requestId: req.headers['x-request-id'], method: req.method, path: pathOf(req), ms };
    // A caller that disconnects before the response is complete gets no status.
    log.debug({ ...fields, status: res.writableFinished ? res.statusCode : null }, 'request');
  });
}

function dispatch(req: IncomingMessage, res: ServerResponse, parts: HttpParts): void {
  const path = pathOf(req);
  if (path === '/api' || path.startsWith('/api/')) {
    observed('rest', res, parts.metrics);
    parts.rest.handle(req, res);
  } else if (path === '/graphql') {
    observed('graphql', res, parts.metrics);
    parts.graphql.handle(req, res);
  } else if (path.startsWith('/auth/') && parts.auth !== undefined) {
    parts.auth.handle(req, res);
  } else if (path === '/healthz') {
    writeJson(res, 200, { status: 'ok' });
  } else if (path === '/readyz') {
    parts.ready().then(
      () => writeJson(res, 200, { status: 'ready' }),
      () => writeJson(res, 503, { status: 'not ready' }),
    );
  } else if (path === '/metrics' && parts.metricsEntry !== undefined) {
    parts.metricsEntry.handle(req, res);
  } else if (parts.downloads !== undefined && Object.hasOwn(parts.downloads, path)) {
    parts.downloads[path]?.handle(req, res);
  } else if (path === '/') {
    res.writeHead(302, { location: '/graphql' }).end();
  } else {
    writeJson(res, 404, { message: `The path ${path} does not exist`, code: 'NOT_FOUND', status: 404 });
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function observed(kind: RequestKind, res: ServerResponse, metrics: RequestMetrics): void {
  const start = performance.now();
  res.on('close', () => metrics.observe(kind, res.statusCode, performance.now() - start));
}

/** Waits up to DRAIN_MS for responses in progress. Streams of events never end, so they are closed. */
async function drain(
  server: Server,
  responding: ReadonlySet<ServerResponse>,
  sockets: Iterable<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Clients open connections in advance. Node counts a connection without a request as busy.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  for (const res of responding) {
    if (String(res.getHeader('content-type')).startsWith('text/event-stream')) res.destroy();
  }
  const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(deadline);
}
