import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { connection, received, send } from './requests.ts';
import { metric, requestBytes } from './service-metrics.ts';

const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
const HALF = `${[
  'POST /graphql HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  'Content-Length: 100',
  'Expect: 100-continue',
].join('\r\n')}\r\n\r\n{`;
const isWhole = (text: string) => text.includes('"ok"');

/** Starts a request and does not finish it. */
async function keepBusy(socket: Socket, request = HALF): Promise<Socket> {
  const text = received(socket, (all) => all.includes('100 Continue'));
  socket.write(request);
  expect(await text).toContain('100 Continue');
  return socket;
}

/** Whether the connection is served. */
async function isServed(socket: Socket): Promise<boolean> {
  const text = received(socket, isWhole);
  socket.write(GET);
  return isWhole(await text);
}

test('a new connection replaces an idle one of the network with the most connections', async () => {
  const { port } = await startTestService({ env: { MAX_CONNECTIONS: '8' } });
  const modest = await connection(port, '127.0.0.2');
  expect(await isServed(modest)).toBe(true);
  const greedy = [];
  const closed = [];
  for (let i = 0; i < 7; i++) {
    const socket = await connection(port, '127.0.0.3');
    closed.push(once(socket, 'close'));
    expect(await isServed(socket)).toBe(true);
    greedy.push(socket);
  }
  expect(await isServed(await connection(port, '127.0.0.4'))).toBe(true);
  await closed[0];
  expect(await isServed(modest)).toBe(true);
  expect(await isServed(greedy[6] as Socket)).toBe(true);
});

test('a new connection is refused while all others are busy, and accepted when one closes', async () => {
  const { port } = await startTestService({ env: { MAX_CONNECTIONS: '5' } });
  const busy: Socket[] = [];
  for (let i = 0; i < 5; i++) {
    busy.push(await keepBusy(await connection(port, `127.0.0.${2 + i}`)));
  }
  expect(await isServed(await connection(port, '127.0.0.9'))).toBe(false);
  for (const socket of busy) socket.destroy();
  await expect.poll(async () => isServed(await connection(port, '127.0.0.9'))).toBe(true);
});

test('one network has at most MAX_CONNECTIONS_PER_NETWORK busy connections, and others are served', async () => {
  const { port } = await startTestService({ env: { MAX_CONNECTIONS_PER_NETWORK: '3' } });
  for (let i = 0; i < 3; i++) await keepBusy(await connection(port, '127.0.0.2'));
  expect(await isServed(await connection(port, '127.0.0.2'))).toBe(false);
  expect(await isServed(await connection(port, '127.0.0.3'))).toBe(true);
  expect(await metric(port, 'http_connections_closed_total{reason="refused"}')).toBeGreaterThan(0);
});

test('behind a proxy the requests in progress of one forwarded network are bounded', async () => {
  const { port } = await startTestService({ env: { MAX_CONNECTIONS_PER_NETWORK: '3', TRUST_PROXY: 'on' } });
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const half = HALF.replace('\r\n\r\n', '\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n');
  const sockets: Socket[] = [];
  for (let i = 0; i < 3; i++) sockets.push(await keepBusy(await connection(port), half));
  const status = async (address: string) => (await send(port, '/api/projects', { headers: from(address) })).status;
  expect(await status('203.0.113.1')).toBe(429);
  expect(await status('203.0.113.2')).toBe(401);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => status('203.0.113.1')).toBe(401);
});

test('responses to pipelined requests are sent in order', async () => {
  const { port } = await startTestService();
  const socket = await connection(port);
  const paths = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? '/healthz' : `/nothing-${i}`));
  const text = received(socket, (all) => all.includes('nothing-59'));
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  const found = [...(await text).matchAll(/"status":"ok"|nothing-\d+/g)].map(([match]) => match);
  expect(found).toEqual(paths.map((path) => (path === '/healthz' ? '"status":"ok"' : path.slice(1))));
  expect(await isServed(await connection(port))).toBe(true);
});

test('responses to pipelined requests with bodies are sent in order', async () => {
  const { port, root } = await startTestService();
  const socket = await connection(port);
  const text = received(socket, (all) => all.includes('"n19"'));
  const request = (n: number) => {
    const body = JSON.stringify({ query: `{ n${n}: __typename }`, variables: { filler: 'x'.repeat(20_000) } });
    const lines = ['Host: localhost', 'Content-Type: application/json', `Authorization: Bearer ${root}`];
    return `POST /graphql HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  socket.write(Array.from({ length: 20 }, (_, n) => request(n)).join(''));
  const found = [...(await text).matchAll(/"n(\d+)"/g)].map(([, n]) => Number(n));
  expect(found).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test('pipelined requests are served when the client reads late', async () => {
  const { port } = await startTestService();
  const socket = await connection(port);
  const requests = 'GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(30);
  socket.pause().write(requests);
  await once(socket, 'readable');
  // These arrive when the service waits for the client to read.
  socket.write(`${requests}GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  expect(await isServed(await connection(port))).toBe(true);
  const text = await received(socket.resume());
  expect(text.match(/HTTP\/1.1 200/g)).toHaveLength(60);
  expect(text).toContain('HTTP/1.1 404');
});

test('a connection with more than 64 requests that wait for an earlier one is closed', async () => {
  const { port, root, projectId } = await startTestService();
  const stream = eventStream(root, projectId);
  const modest = await connection(port);
  modest.write(stream + GET.repeat(64));
  await expect.poll(() => requestBytes(port)).toBe(64 * 4_096);
  const greedy = await connection(port);
  const closed = once(greedy, 'close');
  greedy.resume().write(stream + GET.repeat(65));
  await closed;
  expect(await requestBytes(port)).toBe(64 * 4_096);
  expect(await isServed(await connection(port))).toBe(true);
});

test('requests that wait for an earlier one on their connection count as request bytes', async () => {
  const { port, root, projectId } = await startTestService({ env: { MAX_REQUESTS_MB: '4' } });
  const stream = eventStream(root, projectId);
  const socket = await connection(port, '127.0.0.2');
  socket.write(stream + GET.repeat(50));
  await expect.poll(() => requestBytes(port)).toBe(50 * 4_096);
  // Half of 4 MiB is 512 requests.
  const many = await Promise.all(Array.from({ length: 9 }, () => connection(port, '127.0.0.3')));
  const closed = Promise.race(many.map((each) => once(each, 'close')));
  for (const each of many) each.resume().write(stream + GET.repeat(60));
  await closed;
  for (const each of many) each.destroy();
  socket.destroy();
  await expect.poll(() => requestBytes(port)).toBe(0);
});

/** A request whose response does not end. */
function eventStream(token: string, projectId: string): string {
  const query = `subscription { brokerStatus(projectId: "${projectId}") { kind } }`;
  return [
    `GET /graphql?${new URLSearchParams({ query })} HTTP/1.1`,
    'Host: localhost',
    'Accept: text/event-stream',
    `Authorization: Bearer ${token}`,
    '\r\n',
  ].join('\r\n');
}
