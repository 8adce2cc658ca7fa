/** A real HTTP server with the graph on a free port. */
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { RequestContext } from '../../../src/gateway/context.ts';
import type { RequestFacts } from '../../../src/gateway/graphql/endpoint.ts';
import { createGraphqlServer, type GraphqlServerOptions } from '../../../src/gateway/graphql/server.ts';
import { RightsGuards } from '../../../src/platform/auth/rights-guards.ts';
import type { Viewer } from '../../../src/platform/auth/viewer.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { silentLog } from '../../support/database.ts';
import { createGraph, type GraphParts } from './graph.ts';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly logged: object[];
  /** Sends a request without a socket. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Tokens that are no longer valid. */
  readonly revoked: Set<string>;
  /** The flood subscription calls this for each event. */
  onFlood: (n: number) => void;
}

const viewerNamed = (name: string): Viewer => ({
  kind: 'USER',
  id: name,
  name,
  credentialId: name,
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: false,
  projectRoles: new Map(),
  brokers: null,
});

type TestServerOptions = Partial<GraphqlServerOptions> & GraphParts;

export async function startGraphqlServer({
  ticks,
  onExecution,
  guard,
  ...options
}: TestServerOptions = {}): Promise<TestServer> {
  const logged: object[] = [];
  const revoked = new Set<string>();
  const test = { onFlood: (_n: number) => {} };
  const guards = new RightsGuards({
    read: async (viewer) => (revoked.has(viewer.name) ? null : viewer),
    isCurrent: () => true,
    log: silentLog,
  });
  const services = { auth: { guards } };
  const contextFor = ({ headers, address }: RequestFacts): RequestContext => {
    const token = headers.authorization?.replace('Bearer ', '');
    if (token !== undefined && (token === 'bad' || revoked.has(token))) {
      throw new ServiceError('UNAUTHORIZED', 'Unknown token');
    }
    const viewer = token === undefined ? null : viewerNamed(token);
    const requestId = headers['x-request-id'] ?? '';
    return {
      viewer,
      requestId,
      address,
      services,
      onFlood: (n: number) => test.onFlood(n),
    } as unknown as RequestContext;
  };
  const log = { error: (fields: object) => logged.push(fields) };
  const graphql = createGraphqlServer({
    introspection: 'always',
    schema: createGraph({ ...(ticks && { ticks }), ...(onExecution && { onExecution }), ...(guard && { guard }) }),
    contextFor,
    log,
    ...options,
  });
  const server = createServer((req, res) => graphql.handle(req, res));
  server.on('upgrade', (req, socket, head) => graphql.upgrade(req, socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await graphql.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(test, {
    url: `http://127.0.0.1:${port}/graphql`,
    port,
    fetch: (request: Request) => graphql.fetch(request, { address: '127.0.0.1' }),
    logged,
    revoked,
  });
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape.
  readonly json: any;
}

/** One raw request, without `fetch`. */
export function send(
  { port }: { readonly port: number },
  method: string,
  {
    path = '/graphql',
    headers = {},
    body,
  }: {
    path?: string;
    headers?: Record<string, string>;
    body?: string | Buffer;
  } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const req = httpRequest({ port, host: '127.0.0.1', path, method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = res.headers['content-type']?.includes('json');
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

export const post = (server: TestServer, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  send(server, 'POST', {
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });

export function get(
  server: TestServer,
  params: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return send(server, 'GET', {
    path: `/graphql?${new URLSearchParams(params)}`,
    headers: { accept: 'application/json', ...headers },
  });
}
