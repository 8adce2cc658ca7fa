import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { busyMs } from '../../support/busy-time.ts';
import { bearer, startTestService } from '../../support/service.ts';
import { connection, received, send } from './requests.ts';
import { requestBytes } from './service-metrics.ts';

const QUERY = '{ __typename }';
const JSON_TYPE = { 'content-type': 'application/json' };
const bodyOf = (bytes: number) => {
  const body = { query: QUERY, variables: { filler: '' } };
  body.variables.filler = 'x'.repeat(bytes - JSON.stringify(body).length);
  return JSON.stringify(body);
};
const LARGE = bodyOf(70_000);

test('a body above 64 kB without valid credentials is refused: whole, chunked, and for server-sent events', async () => {
  const { port, root } = await startTestService();
  const roads = [
    { path: '/graphql', headers: JSON_TYPE, body: LARGE },
    { path: '/graphql', headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, body: LARGE },
    { path: '/graphql', headers: { ...JSON_TYPE, accept: 'text/event-stream' }, body: LARGE },
  ];
  for (const { path, headers, body } of roads) {
    const { status, text } = await send(port, path, { method: 'POST', headers, body });
    expect({ path, status }).toEqual({ path, status: 413 });
    expect(text).toContain('TOO_LARGE');
    const unknown = await send(port, path, { method: 'POST', headers: { ...headers, ...bearer('unknown') }, body });
    expect({ path, status: unknown.status }).toEqual({ path, status: 401 });
    const known = await send(port, path, { method: 'POST', headers: { ...headers, ...bearer(root) }, body });
    expect({ path, status: known.status }).toEqual({ path, status: 200 });
  }
  const small = await send(port, '/graphql', { method: 'POST', headers: JSON_TYPE, body: bodyOf(60_000) });
  expect(small.status).toBe(200);
});

const head = (path: string, token: string, bytes: number) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    `Content-Length: ${bytes}`,
    '\r\n',
  ].join('\r\n');

test.each([
  ['GraphQL', '/graphql'],
  ['REST', '/api/users'],
])('beyond the budget the oldest unfinished body of the largest network is refused: %s', async (_name, path) => {
  const { port, root } = await startTestService({ env: { MAX_REQUESTS_MB: '1', MAX_BODY_BYTES: '100000' } });
  const sockets: Socket[] = [];
  const replies: Promise<string>[] = [];
  // One network may use half of the budget: five bodies fit.
  for (let i = 0; i < 8; i++) {
    const socket = await connection(port, '127.0.0.2');
    replies.push(received(socket, (text) => text.includes('RATE_LIMITED')));
    socket.write(head(path, root, 100_000) + LARGE.slice(0, 95_000).padEnd(95_000, 'x'));
    sockets.push(socket);
    await expect.poll(() => requestBytes(port)).toBeGreaterThan(Math.min(i + 1, 5) * 95_000);
  }
  expect(await requestBytes(port)).toBeLessThanOrEqual(524_288);
  for (const reply of replies.slice(0, 3)) {
    expect(await reply).toMatch(/^HTTP\/1.1 429 /);
    expect(await reply).toMatch(/retry-after: 1/i);
  }
  // Another network is not affected.
  const reply = await send(port, '/graphql', {
    method: 'POST',
    from: '127.0.0.3',
    headers: { ...JSON_TYPE, ...bearer(root) },
    body: LARGE,
  });
  expect(reply.status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => requestBytes(port)).toBe(0);
});

const CHUNKED = 'Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

test('a body in small chunks counts the memory of its chunks', async () => {
  const { port } = await startTestService({ env: { MAX_REQUESTS_MB: '1', MAX_BODY_BYTES: '100000' } });
  const [first, second] = [await connection(port), await connection(port)];
  const closed = received(first, (text) => text.includes('RATE_LIMITED'));
  // Each chunk counts 64 + 256 bytes, and one network may use half of 1 MiB.
  const body = `POST /graphql HTTP/1.1\r\n${CHUNKED}${`40\r\n${'x'.repeat(64)}\r\n`.repeat(1_000)}`;
  first.write(body);
  await expect.poll(() => requestBytes(port)).toBeGreaterThan(300_000);
  second.write(body);
  expect(await closed).toMatch(/^HTTP\/1.1 429 /);
  for (const socket of [first, second]) socket.destroy();
  await expect.poll(() => requestBytes(port)).toBe(0);
});

const PLACES = [
  'POST /graphql',
  'POST /auth/session',
  'POST /api/users',
  'GET /api/projects',
  'GET /healthz',
  'PUT /none',
];

test.each(PLACES)('a body of many small chunks ends its connection: %s', async (place) => {
  const { port, url } = await startTestService();
  const floods = Array.from({ length: 120 }, () => connection(port));
  const before = busyMs();
  for (const socket of await Promise.all(floods))
    socket.resume().write(`${place} HTTP/1.1\r\n${CHUNKED}${'1\r\n{\r\n'.repeat(10_000)}`);
  for (const flood of floods) {
    const socket = await flood;
    if (!socket.closed) await once(socket, 'close');
  }
  expect(busyMs() - before).toBeLessThan(3_000);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('a hundred small chunks, and any number of chunks of 64 bytes on average, are a body', async () => {
  const { port, root } = await startTestService();
  const answerTo = async (chunks: readonly string[]) => {
    const socket = await connection(port);
    const reply = received(socket, (text) => text.includes('__typename'));
    const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    socket.write(`POST /graphql HTTP/1.1\r\nAuthorization: Bearer ${root}\r\n${CHUNKED}${body}0\r\n\r\n`);
    return reply;
  };
  const query = JSON.stringify({ query: QUERY }).padEnd(100);
  expect(await answerTo([...query])).toMatch(/^HTTP\/1.1 200 /);
  expect(await answerTo(bodyOf(300_000).match(/.{1,64}/g) ?? [])).toMatch(/^HTTP\/1.1 200 /);
});
