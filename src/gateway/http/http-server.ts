import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { boundBody, readInSlices } from '../../platform/network/sliced-reading.ts';
import { Connections, type RefusalReason } from './connections.ts';
import { pathOf } from './fetch-handler.ts';
import { entryWhileStarting, NOT_READY, type Served } from './gateway.ts';
import type { KnownHosts } from './known-hosts.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import { refuseConnection, refuseExpectation, refuseMalformed, writeJson } from './raw-response.ts';
import { identify } from './request-id.ts';
import { RequestsPerNetwork } from './requests-per-network.ts';
import { Traffic } from './traffic.ts';

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
  /**
   * Sets what is served. Until this is called, /healthz responds with 200 and every other path with 503. `log` receives
   * one line per request, at level debug.
   */
  readonly serve: (served: Served, log?: RequestLog) => void;
  /**
   * Makes load balancers and clients use other processes: from now on /readyz responds with 503, and each response
   * closes its connection. All requests are still served.
   */
  readonly announceClose: () => void;
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
  let served: Served | null = null;
  let requestLog: RequestLog | null = null;
  let isClosing = false;
  let closed: Promise<void> | null = null;
  const start = (req: IncomingMessage, res: ServerResponse) => {
    const begin = performance.now();
    const path = pathOf(req.url ?? '/');
    const entry = isClosing && path === '/readyz' ? NOT_READY : served?.entryOf(path);
    const { kind, handle } = entry ?? entryWhileStarting(path);
    if (isClosing) res.shouldKeepAlive = false;
    const connection = connections.get(req.socket);
    if (connection !== undefined) connection.requests += 1;
    responding.add(res);
    // `close` is emitted once. `once` would allocate a wrapper for each request.
    res.on('close', () => {
      responding.delete(res);
      if (connection !== undefined) connection.requests -= 1;
      const ms = performance.now() - begin;
      if (kind !== undefined) served?.metrics?.observe(kind, res.statusCode, ms);
      if (requestLog !== null) logRequest(req, res, ms, requestLog);
    });
    if (requestLog !== null) identify(req);
    if (proxied !== null && !enter(proxied, traffic.networkOf(req), res)) return;
    if (isMisdirected(req, path, knownHosts)) writeJson(res, 421, misdirected(req));
    else handle(req, res);
  };
  const server = createServer(LIMITS, (req, res) => {
    boundBody(req, res);
    toOriginForm(req);
    if (res.socket === null) pipelined.add(req, res, () => start(req, res));
    else start(req, res);
  });
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    // Node accepts one connection in each iteration, and others may wait.
    traffic.reads.postpone();
    readInSlices(socket, traffic.reads);
  });
  server.on('upgrade', (req, socket, head) => {
    // Node passes the socket without an error listener: a connection reset would end the process.
    socket.on('error', () => socket.destroy());
    toOriginForm(req);
    const path = pathOf(req.url ?? '/');
    if (isMisdirected(req, path, knownHosts)) refuseConnection(socket, '421 Misdirected Request', misdirected(req));
    else if (!served?.upgrade || path !== '/graphql') refuseConnection(socket, '404 Not Found');
    else if (proxied !== null && !enter(proxied, traffic.networkOf(req), socket)) {
      refuseConnection(socket, '429 Too Many Requests', TOO_MANY);
    } else {
      const connection = connections.get(req.socket);
      if (connection !== undefined) connection.isUpgraded = true;
      served.upgrade(req, socket, head);
    }
  });
  server.on('clientError', refuseMalformed);
  server.on('checkExpectation', refuseExpectation);
  if (maxConnections !== undefined) server.maxConnections = maxConnections + SPARE_CONNECTIONS;
  const notifyFull = atMostEvery(REFUSED_NOTICE_MS, () => onRefused?.('FULL'));
  server.on('drop', notifyFull);
  return {
    port: await listen(server, host, port),
    connections,
    serve: (given, log) => {
      served = given;
      requestLog = log?.isLevelEnabled('debug') ? log : null;
    },
    announceClose: () => {
      isClosing = true;
    },
    close: () => {
      connections.close();
      closed ??= drain(server, responding, connections.sockets());
      return closed;
    },
  };
}

/** A target with scheme and host counts as its path, and replaces the Host header: RFC 9112, section 3.2.2. */
function toOriginForm(req: IncomingMessage): void {
  if (req.url === undefined || req.url.startsWith('/')) return;
  const [, host, rest] = /^https?:\/\/([^/?#@]+)(.*)$/i.exec(req.url) ?? [];
  if (host === undefined || rest === undefined) return;
  req.url = rest.startsWith('/') ? rest : `/${rest}`;
  req.headers.host = host;
}

/** Probes are exempt: orchestrators send them with the address of a container or an internal name. */
function isMisdirected({ headers }: IncomingMessage, path: string, knownHosts: KnownHosts | undefined): boolean {
  if (knownHosts === undefined || knownHosts.accepts(headers.host)) return false;
  return path !== '/healthz' && path !== '/readyz';
}

function misdirected({ headers: { host = '' } }: IncomingMessage) {
  const message =
    `Host: "${host.slice(0, 254)}" is not a name of this service. ` +
    'If it should be one, add it to the setting ALLOWED_HOSTS, or set PUBLIC_URL';
  return { message, code: 'UNKNOWN_HOST', status: 421 };
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

/** The line has no query string, which may contain secrets. Errors are logged with the same request id. */
function logRequest(req: IncomingMessage, res: ServerResponse, milliseconds: number, log: RequestLog): void {
  const ms = Math.round(milliseconds * 10) / 10;
  const fields = { requestId: req.headers['x-request-id'], method: req.method, path: pathOf(req.url ?? '/'), ms };
  // A caller that disconnects before the response is complete gets no status.
  log.debug({ ...fields, status: res.writableFinished ? res.statusCode : null }, 'request');
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

/** Resolves with the port when the server accepts connections. Errors: those of the socket, for example EADDRINUSE. */
async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
