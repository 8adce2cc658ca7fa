import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { compressed } from './compressed-handler.ts';
import { Compression } from './compression.ts';
import { type FetchHandler, jsonResponse, type NodeHandler, onNode, pathOf, targetOf } from './fetch-handler.ts';
import { wantsPage } from './page.ts';
import { plainPage } from './plain-page.ts';

export type RequestKind = 'graphql' | 'rest';

export interface RequestMetrics {
  observe(kind: RequestKind, status: number, milliseconds: number): void;
}

/** What is known of a request besides the `Request`. */
export interface FetchFacts {
  /** Address of the caller's connection. Default: unknown, so that all such callers share limits. */
  readonly address?: string;
}

interface GatewayParts {
  readonly graphql: {
    handle: NodeHandler;
    fetch(request: Request, facts: Required<FetchFacts>): Promise<Response>;
    readonly upgrade: NonNullable<Served['upgrade']>;
  };
  readonly rest: FetchHandler;
  /** Further ones by path. */
  readonly paths?: ReadonlyMap<string, FetchHandler>;
  readonly auth?: FetchHandler;
  /** Serve what is below these paths, such as `/graphiql/`. */
  readonly folders?: ReadonlyMap<string, FetchHandler>;
  readonly metrics: RequestMetrics;
  readonly compression?: Compression;
  readonly metricsEntry?: FetchHandler;
  /** Resolves with the reason why the service is not ready; `null` if it is. */
  readonly whyNotReady: () => Promise<string | null>;
  /** Further fields of the body of /readyz while the service is ready. */
  readonly readyFields?: () => object;
}

/** What serves a path: the same for requests of a socket and for those of `fetch`. */
interface Entry {
  /** Label of the metrics; `undefined` if the requests are not measured. */
  readonly kind: RequestKind | undefined;
  readonly fetch: FetchHandler;
  readonly handle: NodeHandler;
}

/** What a port serves. */
export interface Served {
  readonly entryOf: (path: string) => Entry;
  /** Default: no request is measured. */
  readonly metrics?: RequestMetrics;
  /** Serves WebSockets at `/graphql`. Default: they are refused. */
  readonly upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

const entry = (fetch: FetchHandler, kind?: RequestKind): Entry => ({ kind, fetch, handle: onNode(fetch) });
const compressedEntry = (fetch: FetchHandler, compression: Compression, kind?: RequestKind): Entry => ({
  kind,
  fetch,
  handle: onNode(compressed(fetch, compression)),
});

const HEALTHY = entry(() => jsonResponse(200, { status: 'ok' }));
const readiness = (reason: string | null, fields: () => object = () => ({})) =>
  reason === null
    ? jsonResponse(200, { status: 'ready', ...fields() })
    : jsonResponse(503, { status: 'not ready', reason });
/** What /readyz serves while the service shuts down. */
export const NOT_READY = entry(() => readiness('the service shuts down'));
/** A header or an element `refresh` does not reload an address with a fragment in Chromium. */
const RELOAD = 'setTimeout(() => location.reload(), 1000)';
const STARTING = entry((request) => {
  const message = 'The service is starting';
  const headers = { 'retry-after': '1' };
  if (!wantsPage(request)) return jsonResponse(503, { message, code: 'STARTING', status: 503 }, headers);
  const text = 'This page reloads when it has started.';
  return plainPage(503, { title: message, text, script: RELOAD, headers });
});
const UNKNOWN = entry((request) => {
  const message = `The path ${pathOf(targetOf(request))} does not exist`;
  return jsonResponse(404, { message, code: 'NOT_FOUND', status: 404 });
});

/** Entries until the gateway is complete. */
export const entryWhileStarting = (path: string): Entry => (path === '/healthz' ? HEALTHY : STARTING);

/** What the port of METRICS_HOST serves. */
export function onlyMetrics(handler: FetchHandler): Served {
  const metrics = entry(handler);
  return { entryOf: (path) => (path === '/metrics' ? metrics : UNKNOWN) };
}

/** What a process serves that is not for clients: its health and its metrics. */
export const onlyHealth = ({ entryOf }: Served): Served => ({
  entryOf: (path) => (/^\/(?:healthz|readyz|metrics)$/.test(path) ? entryOf(path) : UNKNOWN),
});

/** The whole interface of a service: which entry serves which path. */
export class Gateway implements Served {
  readonly metrics: RequestMetrics;
  readonly #rest: Entry;
  readonly #graphql: Entry;
  readonly #auth: Entry;
  readonly #folders: ReadonlyMap<string, Entry>;
  readonly #others: ReadonlyMap<string, Entry>;
  readonly upgrade: NonNullable<Served['upgrade']>;

  constructor({
    graphql,
    rest,
    paths = new Map(),
    auth,
    folders = new Map(),
    metrics,
    compression = new Compression(),
    metricsEntry,
    whyNotReady,
    readyFields = () => ({}),
  }: GatewayParts) {
    this.metrics = metrics;
    this.#rest = compressedEntry(rest, compression, 'rest');
    this.#graphql = {
      kind: 'graphql',
      fetch: (request, { address = '' }) => graphql.fetch(request, { address }),
      handle: (req, res) => graphql.handle(req, res),
    };
    this.#auth = auth ? entry(auth) : UNKNOWN;
    this.#folders = new Map([...folders].map(([path, handler]) => [path, entry(handler)]));
    this.#others = new Map([
      ['/graphql', this.#graphql],
      ['/api', this.#rest],
      ['/healthz', HEALTHY],
      ['/readyz', entry(() => whyNotReady().then((reason) => readiness(reason, readyFields)))],
      ...(metricsEntry ? [['/metrics', compressedEntry(metricsEntry, compression)] as const] : []),
      ...[...paths].map(([path, handler]) => [path, compressedEntry(handler, compression)] as const),
    ]);
    this.upgrade = (req, socket, head) => graphql.upgrade(req, socket, head);
  }

  readonly entryOf = (path: string): Entry => {
    if (path.startsWith('/api/')) return this.#rest;
    if (path.startsWith('/auth/')) return this.#others.get(path) ?? this.#auth;
    return this.#others.get(path) ?? this.#folders.get(path.slice(0, path.indexOf('/', 1) + 1)) ?? UNKNOWN;
  };

  /** Responds to a request that came without a socket of this service. Errors: the reason of an aborted request. */
  async fetch(request: Request, { address = '' }: FetchFacts = {}): Promise<Response> {
    request.signal.throwIfAborted();
    const start = performance.now();
    const { kind, fetch } = this.entryOf(pathOf(targetOf(request)));
    const response = await fetch(request, { address });
    if (kind !== undefined) this.metrics.observe(kind, response.status, performance.now() - start);
    request.signal.throwIfAborted();
    const { status, statusText } = response;
    // Handlers create responses of @whatwg-node/fetch, which other servers may not accept.
    const body = request.method === 'HEAD' || response.body === null ? null : response.body;
    return new globalThis.Response(body, { status, statusText, headers: [...response.headers] });
  }
}
