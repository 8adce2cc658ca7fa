import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { createServerAdapter, type ServerAdapterNodeContext } from '@whatwg-node/server';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, startTestService, type TestService } from '../../support/service.ts';
import { isLong } from '../../support/suite.ts';

const ORIGIN = 'http://gateway.example.com';

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const requestOf = (path: string, { method = 'GET', headers = {}, body }: Sent = {}) =>
  new Request(`${ORIGIN}${path}`, { method, headers, ...(body !== undefined && { body }) });

/** Header fields that describe the connection, the time or the id of a request. */
const OF_THE_CONNECTION = ['connection', 'date', 'keep-alive', 'transfer-encoding', 'content-length', 'x-request-id'];

async function comparable(response: Response) {
  const headers = [...response.headers].filter(([name]) => !OF_THE_CONNECTION.includes(name));
  const text = (await response.text()).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>');
  return { status: response.status, headers, text };
}

/** Sends the same request over a socket and without one, and returns the response, which must be equal. */
async function both(service: TestService, path: string, sent: Sent = {}) {
  // Responses without a socket are not compressed: that is the task of the other server.
  const headers = { ...sent.headers, 'accept-encoding': 'identity' };
  const overHttp = async () => comparable(await fetch(`${service.url}${path}`, { ...sent, headers }));
  let before = await overHttp();
  for (;;) {
    const withoutSocket = await comparable(await service.fetch(requestOf(path, sent)));
    const after = await overHttp();
    // Numbers of the broker may change in between: then the comparison starts again.
    if (isDeepStrictEqual(before, after)) {
      expect(withoutSocket, `${sent.method ?? 'GET'} ${path}`).toEqual(after);
      return withoutSocket;
    }
    before = after;
  }
}

interface Operation {
  readonly method: string;
  readonly path: string;
}

const OPERATIONS: readonly Operation[] = JSON.parse(
  readFileSync(new URL('../../contract/operations.json', import.meta.url), 'utf8'),
);

test('every documented operation responds without a socket as over HTTP, for each role and input', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const { projectId, root, person } = service;
  const [broker] = (await service.rest('GET', `/api/projects/${projectId}/brokers`)).body;
  const { token: viewer } = await person('VIEWER');
  const json = { 'content-type': 'application/json' };
  const statuses = new Set<number>();
  const callers = [null, root, 'brg_session_unknown', viewer];
  for (const [index, { method, path }] of OPERATIONS.entries()) {
    const filled = path
      .replace('{projectId}', projectId)
      .replace('{brokerId}', broker.id)
      .replaceAll(/\{\w+\}/g, 'none');
    const isRead = method === 'GET';
    const body = isRead ? {} : { body: '{"unknown":1}' };
    for (const token of isLong || index % 4 === 0 ? callers : callers.slice(0, 2)) {
      // Writes are sent with an input that is refused: an accepted one would not respond twice alike.
      const headers = { ...(isRead ? {} : json), ...bearer(token) };
      const query = isRead ? '' : '?unknown=1';
      statuses.add((await both(service, filled + query, { method, headers, ...body })).status);
    }
  }
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]));
});

test('the whole interface is served: documents, health, metrics, downloads, single sign-on, redirects', async () => {
  const service = await startTestService();
  for (const path of ['/healthz', '/readyz', '/api/openapi.json', '/api/docs', '/nowhere', '/auth/oidc', '/api/%ff'])
    await both(service, path);
  const page = await service.fetch(requestOf('/'));
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const head = await service.fetch(requestOf('/api/docs', { method: 'HEAD' }));
  expect([head.status, await head.text()]).toEqual([200, '']);
  const audit = await service.fetch(requestOf('/audit.jsonl', { headers: bearer(service.root) }));
  expect(audit.headers.get('content-type')).toBe('application/jsonl; charset=utf-8');
  expect(JSON.parse((await audit.text()).split('\n')[0] ?? '')).toMatchObject({ sequence: 1 });
  // Without an address the caller is not on this machine.
  expect((await service.fetch(requestOf('/metrics'))).status).toBe(401);
  const scrape = await service.fetch(requestOf('/metrics'), { address: '127.0.0.1' });
  expect(await scrape.text()).toMatch(/^brokergraph_http_request_duration_seconds_count\{kind="rest"/m);
  const denied = await service.fetch(requestOf('/audit.jsonl'));
  expect(denied.status).toBe(401);
});

test('a mutation and a query of the graph respond without a socket', async () => {
  const service = await startTestService();
  const ask = async (query: string, token: string | null) => {
    const headers = { 'content-type': 'application/json', ...bearer(token) };
    const response = await service.fetch(
      requestOf('/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) }),
    );
    return response.json();
  };
  const create = 'mutation { createProject(input: { name: "Without a socket" }) { project { name } } }';
  expect(await ask(create, service.root)).toEqual({
    data: { createProject: { project: { name: 'Without a socket' } } },
  });
  expect(await ask('{ viewer { name } projects(first: 1) { nodes { name } } }', null)).toMatchObject({
    errors: [{ extensions: { code: 'UNAUTHORIZED' } }],
  });
});

test('a body is bounded by the credentials, and an aborted request rejects', async () => {
  const service = await startTestService({ env: { MAX_BODY_BYTES: '100000' } });
  const path = `/api/projects/${service.projectId}/brokers`;
  const send = (token: string | null, bytes: number) =>
    service.fetch(
      requestOf(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(token) },
        body: JSON.stringify({ name: 'x'.repeat(bytes) }),
      }),
    );
  expect((await send(service.root, 120_000)).status).toBe(413);
  expect((await send(null, 10)).status).toBe(401);
  expect(await (await send(service.root, 1_000)).json()).toMatchObject({ code: 'INVALID' });
  const stop = new AbortController();
  stop.abort(new Error('no longer wanted'));
  await expect(service.fetch(new Request(`${ORIGIN}${path}`, { signal: stop.signal }))).rejects.toThrow(
    'no longer wanted',
  );
});

test('the gateway can be embedded in the server of another program', async () => {
  const service = await startTestService();
  const embed = createServerAdapter<Partial<ServerAdapterNodeContext>>((request, { req }) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/own') return new Response('own page');
    return service.fetch(request, { address: req?.socket?.remoteAddress ?? '' });
  });
  const server = createServer(embed).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await (await fetch(`${url}/own`)).text()).toBe('own page');
  const list = await fetch(`${url}/api/projects`, { headers: bearer(service.root) });
  expect(await list.json()).toMatchObject([{ id: service.projectId }]);
});
