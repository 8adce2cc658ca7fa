import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Metrics, RequestKind } from './metrics.ts';

export interface HttpParts {
  readonly graphql: {
    handle(req: IncomingMessage, res: ServerResponse): void;
    upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  };
  readonly rest: { handle(req: IncomingMessage, res: ServerResponse): void };
  readonly metrics: Metrics;
  /** Rejects while the service cannot do its work. */
  readonly ready: () => Promise<void>;
}

export interface HttpServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Who is slower to send a request holds a connection for nothing. */
const LIMITS = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 } as const;

/** Answers in flight get this long to end when the service stops. */
const DRAIN_MS = 5_000;

/** One port for everything: /graphql, /api, /healthz, /readyz, /metrics. */
export async function startHttpServer(host: string, port: number, parts: HttpParts): Promise<HttpServer> {
  const answering = new Set<ServerResponse>();
  const server = createServer(LIMITS, (req, res) => {
    answering.add(res);
    res.once('close', () => answering.delete(res));
    dispatch(req, res, parts);
  });
  server.on('upgrade', (req, socket, head) => {
    // Node gives the socket away without a listener: a caller who resets it would end the process.
    socket.on('error', () => socket.destroy());
    if (pathOf(req) === '/graphql') parts.graphql.upgrade(req, socket, head);
    else socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => drain(server, answering) };
}

function dispatch(req: IncomingMessage, res: ServerResponse, parts: HttpParts): void {
  const path = pathOf(req);
  if (path === '/api' || path.startsWith('/api/')) {
    observed('rest', res, parts.metrics);
    parts.rest.handle(req, res);
  } else if (path === '/graphql') {
    observed('graphql', res, parts.metrics);
    parts.graphql.handle(req, res);
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
  res.once('close', () => metrics.observe(kind, res.statusCode, performance.now() - start));
}

function answer(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(`${JSON.stringify(body)}\n`);
}

/** Takes no more requests and lets those in flight end within DRAIN_MS; streams of events, which never end, are cut. */
async function drain(server: Server, answering: ReadonlySet<ServerResponse>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  for (const res of answering) {
    if (String(res.getHeader('content-type')).startsWith('text/event-stream')) res.destroy();
  }
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(cut);
}
