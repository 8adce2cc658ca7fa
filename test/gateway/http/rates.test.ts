import { once } from 'node:events';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { bearer, startTestService, type TestService } from '../../support/service.ts';
import { type Reply, send } from './requests.ts';

/** A burst is ten times the rate. */
const BURST = 10;
const JSON_TYPE = { 'content-type': 'application/json' };
const QUERY = JSON.stringify({ query: '{ __typename }' });

const post = (port: number, headers: Record<string, string>, body = QUERY) =>
  send(port, '/graphql', { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });

/** The first response with this status: on a slow machine, units are regained between two requests. */
async function firstWith(status: number, request: () => Promise<Reply>): Promise<Reply> {
  for (let i = 0; i < 20 * BURST; i++) {
    const reply = await request();
    if (reply.status === status) return reply;
  }
  throw new Error(`No request had the status ${status}`);
}

async function open({ port }: TestService, token: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const closed = once(socket, 'close').then(([code]) => code as number);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { token } }));
  const acknowledged = await Promise.race([once(socket, 'message').then(() => true), closed.then(() => false)]);
  // biome-ignore lint/suspicious/noExplicitAny: read as it was sent.
  const messages: any[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  const subscribe = (id: string, query: string) =>
    socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query } }));
  return { acknowledged, closed, messages, subscribe };
}

test('a person who sends requests faster than RATE_REQUESTS is refused over every transport, and others are served', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const service = await startTestService({ log, env: { RATE_REQUESTS: '1' } });
  const { port, person } = service;
  const [greedy, modest] = [await person('VIEWER'), await person('VIEWER')];
  const socket = await open(service, greedy.token);
  const path = '/api/projects';
  const refusedBy = (request: () => Promise<Reply>) => firstWith(429, request);
  const graph = await refusedBy(() => post(port, bearer(greedy.token)));
  const rest = await refusedBy(() => send(port, path, { headers: bearer(greedy.token) }));
  for (const { headers, text } of [graph, rest]) {
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(text).toContain('RATE_LIMITED');
    expect(text).toContain('retryAfterSeconds');
  }
  for (let i = 0; i < 2 * BURST; i++) socket.subscribe(String(i), '{ __typename }');
  await expect
    .poll(() => socket.messages.find(({ type }) => type === 'error'))
    .toMatchObject({
      payload: [{ extensions: { code: 'RATE_LIMITED', info: { retryAfterSeconds: expect.any(Number) } } }],
    });
  // Clients reconnect after this code.
  const codes = await Promise.all(
    Array.from({ length: 2 * BURST }, async () => {
      const { acknowledged, closed } = await open(service, greedy.token);
      return acknowledged ? null : closed;
    }),
  );
  expect(codes.filter((code) => code !== null)).toContain(1013);

  // The log says once who it is.
  const exceeded = lines.filter(({ msg }) => msg === 'a caller exceeds its rate; its requests are refused');
  const caller = { kind: 'USER', id: expect.any(String), name: expect.stringContaining('@') };
  expect(exceeded).toMatchObject([{ caller, address: '127.0.0.1', what: 'requests' }]);

  expect((await post(port, bearer(modest.token))).status).toBe(200);
  expect((await send(port, path, { headers: bearer(modest.token) })).status).toBe(200);
  // The caller has units again after the time in the response.
  await expect.poll(async () => (await post(port, bearer(greedy.token))).status).toBe(200);
});

test('callers without credentials, and with unknown ones, share the rate of their network', async () => {
  const { port, root } = await startTestService({ env: { RATE_REQUESTS: '1' } });
  const from = (headers: Record<string, string>, address: string) =>
    send(port, '/graphql', { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: QUERY, from: address });
  expect((await from({}, '127.0.0.2')).status).toBe(200);
  expect((await from(bearer('unknown'), '127.0.0.2')).status).toBe(401);
  await firstWith(429, () => from(bearer('unknown'), '127.0.0.2'));
  await firstWith(429, () => from({}, '127.0.0.2'));
  expect((await from({}, '127.0.0.3')).status).toBe(200);
  expect((await from(bearer(root), '127.0.0.2')).status).toBe(200);
});

test('request bodies have a rate limit in bytes', async () => {
  const { port, root, person } = await startTestService({ env: { RATE_REQUEST_BYTES: '10000' } });
  const { token } = await person('VIEWER');
  const body = JSON.stringify({ query: '{ __typename }', variables: { filler: 'x'.repeat(60_000) } });
  expect((await post(port, bearer(token), body)).status).toBe(200);
  const { headers } = await firstWith(429, () => post(port, bearer(token), body));
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  const users = await send(port, '/api/users', { method: 'POST', headers: { ...JSON_TYPE, ...bearer(token) }, body });
  expect(users.status).toBe(403);
  expect((await post(port, bearer(token))).status).toBe(200);
  expect((await post(port, bearer(root), body)).status).toBe(200);
  await firstWith(429, () =>
    send(port, '/api/users', { method: 'POST', headers: { ...JSON_TYPE, ...bearer(root) }, body }),
  );
});

test('subscriptions have a separate rate, over all connections of a user', async () => {
  const service = await startTestService({ env: { RATE_SUBSCRIPTIONS: '1' } });
  const { person, projectId, root } = service;
  const { token } = await person('VIEWER');
  const watch = `subscription { brokerStatus(projectId: "${projectId}") { kind } }`;
  const [one, other, alien] = [await open(service, token), await open(service, token), await open(service, root)];
  for (let i = 0; i < 4 * BURST; i++) (i % 2 === 0 ? one : other).subscribe(String(i), watch);
  const all = () => [...one.messages, ...other.messages];
  await expect.poll(() => all().length).toBe(4 * BURST);
  const refused = all().filter(({ type }) => type === 'error');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0].payload).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
  expect(all().filter(({ type }) => type === 'next').length).toBeGreaterThanOrEqual(BURST);
  one.subscribe('query', '{ __typename }');
  await expect.poll(() => one.messages.some(({ id, type }) => id === 'query' && type === 'next')).toBe(true);
  alien.subscribe('1', watch);
  await expect.poll(() => alien.messages[0]?.type).toBe('next');
});

test('rates that are off refuse nothing', async () => {
  const env = { RATE_REQUESTS: 'off', RATE_REQUEST_BYTES: 'off', RATE_SUBSCRIPTIONS: 'off' };
  const { port, root } = await startTestService({ env });
  for (let i = 0; i < 50; i++) expect((await post(port, bearer(root))).status).toBe(200);
});
