import { once } from 'node:events';
import { getIntrospectionQuery } from 'graphql';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startTestService, type TestService } from '../../support/service.ts';
import { send } from './requests.ts';
import { requestBytes, responseBytes } from './service-metrics.ts';

async function open({ port }: TestService, token: string | null, from = '127.0.0.2') {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws', { localAddress: from });
  onTestFinished(() => socket.terminate());
  socket.on('error', () => undefined);
  const closed = once(socket, 'close').then(([code]) => code as number);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: token === null ? {} : { token } }));
  const refused = closed.then((code) => {
    throw new Error(`the service closed the socket with ${code}`);
  });
  await Promise.race([once(socket, 'message'), refused]);
  refused.catch(() => undefined);
  return { socket, closed };
}

/** Of clients that do not read. */
const COUNT = 3;
const FILLER = 'x'.repeat(50_000);

test('JSON with 16,000 shapes of objects is refused before it is parsed, by HTTP and WebSocket', async () => {
  const service = await startTestService();
  const values = Array.from({ length: 20_000 }, (_, at) => ({ [`n${at}`]: 1 }));
  const body = { query: '{ __typename }', variables: { values } };
  for (const path of ['/graphql', `/api/projects/${service.projectId}/brokers`])
    expect(await service.rest('POST', path, service.root, body)).toMatchObject({ status: 413 });
  const { socket, closed } = await open(service, service.root);
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: body }));
  expect(await closed).toBe(1009);
});

test('a WebSocket message without credentials above 64 kB is refused, whole or in fragments', async () => {
  const service = await startTestService();
  const message = JSON.stringify({
    id: '1',
    type: 'subscribe',
    payload: { query: `{ __typename } # ${'x'.repeat(70_000)}` },
  });
  const [whole, fragments, known] = [
    await open(service, null),
    await open(service, null),
    await open(service, service.root),
  ];
  whole.socket.send(message);
  expect(await whole.closed).toBe(1009);
  fragments.socket.send(FILLER, { fin: false });
  fragments.socket.send(FILLER, { fin: false });
  expect([1006, 1009]).toContain(await fragments.closed);
  known.socket.send(message);
  const [data] = await once(known.socket, 'message');
  expect(JSON.parse(String(data))).toMatchObject({ id: '1', type: 'next' });
});

test('fragments of WebSocket messages count as request bytes, and the oldest socket of the largest network is closed', async () => {
  const service = await startTestService({ env: { MAX_REQUESTS_MB: '1', MAX_BODY_BYTES: '200000' } });
  const { port, root } = service;
  const sockets = [];
  for (let i = 0; i < 8; i++) {
    const opened = await open(service, root);
    for (let n = 0; n < 3; n++) opened.socket.send(FILLER, { fin: false });
    sockets.push(opened);
    await expect.poll(() => requestBytes(port)).toBeGreaterThan(Math.min(i + 1, 3) * 140_000);
  }
  for (const { closed } of sockets.slice(0, 4)) expect([1006, 1013]).toContain(await closed);
  expect(await requestBytes(port)).toBeLessThanOrEqual(524_288);
  const other = await open(service, root, '127.0.0.3');
  other.socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: '{ __typename }' } }));
  expect(JSON.parse(String((await once(other.socket, 'message'))[0]))).toMatchObject({ type: 'next' });
  for (const { socket } of sockets) socket.terminate();
  await expect.poll(() => requestBytes(port)).toBe(0);
});

test('queries of a WebSocket whose client does not read wait instead of filling the memory', async () => {
  const service = await startTestService();
  const { port, person } = service;
  const { token } = await person('VIEWER');
  const sockets = [];
  const query = getIntrospectionQuery();
  const frames = Array.from({ length: 12 }, (_, id) =>
    JSON.stringify({ id: String(id), type: 'subscribe', payload: { query: `${query} # ${id}` } }),
  );
  // All are open before the first query, because the queries leave no time to open another one.
  for (let i = 0; i < COUNT; i++) sockets.push((await open(service, token)).socket);
  for (const socket of sockets) {
    socket.pause();
    for (const frame of frames) socket.send(frame);
  }
  // All operations wait for their clients.
  let last = -1;
  let equalCount = 0;
  await expect
    .poll(
      async () => {
        const before = last;
        last = await responseBytes(port);
        equalCount = last > COUNT * 1_048_576 && last === before ? equalCount + 1 : 0;
        return equalCount;
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(4);
  expect((await send(port, '/healthz')).status).toBe(200);

  // A client that continues to read gets all results.
  const [first] = sockets;
  const ids = new Set<string>();
  const refused: string[] = [];
  let responseSize = 0;
  first?.on('message', (data) => {
    responseSize = Math.max(responseSize, String(data).length);
    const { id, type } = JSON.parse(String(data)) as { id: string; type: string };
    if (type === 'complete') ids.add(id);
    if (type === 'error') refused.push(String(data));
  });
  first?.resume();
  await expect.poll(() => ids.size + refused.length, { timeout: 60_000 }).toBe(frames.length);
  expect(refused).toEqual([]);
  // The bound of each socket is 1 MiB plus one response.
  expect(last).toBeLessThanOrEqual(COUNT * (1_048_576 + responseSize));
  for (const socket of sockets) socket.terminate();
  await expect.poll(() => responseBytes(port)).toBe(0);
});
