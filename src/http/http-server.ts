import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Metrics, RequestKind } from '../metrics.ts';

export interface HttpParts {
  readonly graphql: {
    handle(req: IncomingMessage, res: ServerResponse): void;
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
  readonly rest: { handle(req: IncomingMessage, res: ServerResponse): void };
  /** Served by their whole paths. */
  readonly downloads?: Readonly<Record<string, { handle(req: IncomingMessage, res: ServerResponse): void }>>;
  /** Browsers that sign in elsewhere, below /auth; absent: there is no such way. */
  readonly auth?: { handle(req: IncomingMessage, res: ServerResponse): void };
  readonly metrics: Metrics;
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
  /** Some were closed for that: told at most once a minute. */
  readonly onFull?: () => void;
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
export async function startHttpServer({ host, port, maxConnections, onFull }: HttpServerOptions): Promise<HttpServer> {
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
    if (parts === null) answerEarly(req, res);
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
    if (parts !== null && pathOf(req) === '/graphql') parts.graphql.upgrade(req, socket, head);
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
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
  if (pathOf(req) === '/healthz') answer(res, 200, { status: 'ok' });
  else {
    res.setHeader('retry-after', '1');
    answer(res, 503, { message: 'The service is starting', code: 'STARTING', status: 503 });
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
    answer(res, 200, { status: 'ok' });
  } else if (path === '/readyz') {
    parts.ready().then(
      () => answer(res, 200, { status: 'ready' }),
      () => answer(res, 503, { status: 'not ready' }),
    );
  } else if (path === '/metrics') {
    parts.metrics.text().then(
      (text) => res.writeHead(200, { 'content-type': parts.metrics.contentType }).end(text),
      () => answer(res, 500, { status: 'metrics could not be collected' }),
    );
  } else if (parts.downloads !== undefined && Object.hasOwn(parts.downloads, path)) {
    parts.downloads[path]?.handle(req, res);
  } else if (path === '/') {
    res.writeHead(302, { location: '/graphql' }).end();
  } else {
    answer(res, 404, { message: `There is nothing at ${path}`, code: 'NOT_FOUND', status: 404 });
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function observed(kind: RequestKind, res: ServerResponse, metrics: Metrics): void {
  const start = performance.now();
  res.on('close', () => metrics.observe(kind, res.statusCode, performance.now() - start));
}

function answer(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(`${JSON.stringify(body)}\n`);
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
