import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Metrics, RequestKind } from '../metrics.ts';
import type { HttpHandler } from './cross-origin.ts';
import type { KnownHosts } from './known-hosts.ts';
import { writeJson } from './write-json.ts';

export interface HttpParts {
  readonly graphql: HttpHandler & {
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
  readonly rest: HttpHandler;
  /** Handlers by their whole paths. */
  readonly downloads?: Readonly<Record<string, HttpHandler>>;
  /** Serves the paths below `/auth`, for browsers that sign in at an identity provider. Default: these paths are NOT_FOUND. */
  readonly auth?: HttpHandler;
  /** Measures requests. */
  readonly metrics: Pick<Metrics, 'observe'>;
  /** Serves `/metrics`. Default: that path is NOT_FOUND. */
  readonly metricsEntry?: HttpHandler;
  /** Rejects while the service cannot do its work. */
  readonly ready: () => Promise<void>;
  /** Gets a line for each request at level debug. */
  readonly log?: RequestLog;
}

/** What is used of a logger; pino's shape. */
export interface RequestLog {
  isLevelEnabled(level: string): boolean;
  debug(fields: object, text: string): void;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Further connections are closed as they come. Default: as many as the process may open. */
  readonly maxConnections?: number;
  /** Called when connections were closed for that, at most once a minute. */
  readonly onFull?: () => void;
  /** Checks `Host` headers. Default: none is checked. */
  readonly knownHosts?: KnownHosts;
}

export interface HttpServer {
  readonly port: number;
  /** Until then only /healthz answers, everything else with 503. */
  readonly serve: (parts: HttpParts) => void;
  /** Safe to call twice. */
  readonly close: () => Promise<void>;
}

/** Who is slower to send a request holds a connection for nothing. */
const LIMITS = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 } as const;

const FULL_NOTICE_MS = 60_000;

/** Answers in flight get this long to end when the service stops. */
const DRAIN_MS = 5_000;

/**
 * One port for everything: /graphql, /api, /auth, /healthz, /readyz, /metrics. It is taken before there is anything to serve, so that a
 * taken port stops a start before it has made anything.
 */
export async function startHttpServer({
  host,
  port,
  maxConnections,
  onFull,
  knownHosts,
}: HttpServerOptions): Promise<HttpServer> {
  const answering = new Set<ServerResponse>();
  const sockets = new Set<Socket>();
  const queued = new Queued();
  let parts: HttpParts | null = null;
  let logged: RequestLog | null = null;
  let closed: Promise<void> | null = null;
  const serve = (given: HttpParts) => {
    parts = given;
    logged = given.log?.isLevelEnabled('debug') ? given.log : null;
  };
  const server = createServer(LIMITS, (req, res) => {
    answering.add(res);
    // `on`, here and below: it closes once, and `once` would wrap the function for each request.
    res.on('close', () => answering.delete(res));
    if (res.socket === null) queued.add(req.socket, res);
    if (logged !== null) logRequest(req, res, logged);
    if (isMisdirected(req, knownHosts)) writeJson(res, 421, misdirected(req));
    else if (parts === null) answerEarly(req, res);
    else dispatch(req, res, parts);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      queued.closed(socket);
    });
  });
  server.on('upgrade', (req, socket, head) => {
    // Node gives the socket away without a listener: a caller who resets it would end the process.
    socket.on('error', () => socket.destroy());
    if (isMisdirected(req, knownHosts)) refuseUpgrade(socket, '421 Misdirected Request', misdirected(req));
    else if (parts !== null && pathOf(req) === '/graphql') parts.graphql.upgrade(req, socket, head);
    else refuseUpgrade(socket, '404 Not Found');
  });
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  if (onFull !== undefined) server.on('drop', atMostEvery(FULL_NOTICE_MS, onFull));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    serve,
    close: () => {
      closed ??= drain(server, answering, sockets);
      return closed;
    },
  };
}

/**
 * Answers that wait for earlier ones on their connection (RFC 9112 9.3.2). Node tells an answer of the connection's end only once its
 * turn has come: one whose turn never comes would be open for ever, and a stream of events with it.
 */
class Queued {
  readonly #waiting = new WeakMap<Socket, Set<ServerResponse>>();

  add(socket: Socket, res: ServerResponse): void {
    const waiting = this.#waiting.get(socket) ?? new Set();
    this.#waiting.set(socket, waiting.add(res));
    res.on('close', () => waiting.delete(res));
  }

  closed(socket: Socket): void {
    for (const res of this.#waiting.get(socket) ?? []) {
      if (res.socket !== null) continue;
      res.destroy();
      res.emit('close');
    }
  }
}

/** Probes are exempt: orchestrators send them with the address of a container, or with a name that only they know. */
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

/** Refuses an upgrade and closes its connection. */
function refuseUpgrade(socket: Duplex, status: string, body?: object): void {
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  const type = body === undefined ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\n${type}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
}

function atMostEvery(ms: number, tell: () => void): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - toldAt < ms) return;
    toldAt = now;
    tell();
  };
}

/** Lives while the service starts. */
function answerEarly(req: IncomingMessage, res: ServerResponse): void {
  if (pathOf(req) === '/healthz') writeJson(res, 200, { status: 'ok' });
  else {
    res.setHeader('retry-after', '1');
    writeJson(res, 503, { message: 'The service is starting', code: 'STARTING', status: 503 });
  }
}

/** Without the query, which may hold what is nobody's business. The id is the one that errors are logged with. */
function logRequest(req: IncomingMessage, res: ServerResponse, log: RequestLog): void {
  const start = performance.now();
  res.once('close', () => {
    const ms = Math.round((performance.now() - start) * 10) / 10;
    const fields = { requestId: req.headers['x-request-id'], method: req.method, path: pathOf(req), ms };
    // A caller who left before the answer was whole got no status.
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
    writeJson(res, 404, { message: `There is nothing at ${path}`, code: 'NOT_FOUND', status: 404 });
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function observed(kind: RequestKind, res: ServerResponse, metrics: HttpParts['metrics']): void {
  const start = performance.now();
  res.on('close', () => metrics.observe(kind, res.statusCode, performance.now() - start));
}

/** Takes no more requests and lets those in flight end within DRAIN_MS; streams of events, which never end, are cut. */
async function drain(
  server: Server,
  answering: ReadonlySet<ServerResponse>,
  sockets: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Clients open connections before they need them; Node counts one that has never asked anything as busy.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  for (const res of answering) {
    if (String(res.getHeader('content-type')).startsWith('text/event-stream')) res.destroy();
  }
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(cut);
}
