import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { connection, received, send } from './requests.ts';

/** Status, fields and body of a response that ends with the connection. */
async function reply(port: number, ...pieces: readonly string[]) {
  const socket = await connection(port);
  const text = received(socket);
  for (const piece of pieces) socket.write(piece);
  const [head = '', body = ''] = (await text).split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(': ') as [string, string]));
  return { status: Number(line.split(' ')[1]), headers, body: body === '' ? null : JSON.parse(body) };
}

test('a head that is too long gets 431 with the error body, a request id and the end of the connection', async () => {
  const { port } = await startTestService();
  const long = 'x'.repeat(17_000);
  for (const request of [
    `GET /api/${long} HTTP/1.1\r\n`,
    `GET /api HTTP/1.1\r\nHost: localhost\r\nX: ${long}\r\n\r\n`,
  ]) {
    const { status, headers, body } = await reply(port, request);
    expect(status).toBe(431);
    expect(body).toEqual({ message: expect.stringContaining('16 KiB'), code: 'HEADERS_TOO_LARGE', status: 431 });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('connection')).toBe('close');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  }
  const fits = await send(port, '/healthz', { headers: { x: 'x'.repeat(15_000) } });
  expect(fits.status).toBe(200);
});

test('bytes that are not a request get 400 with the error body', async () => {
  const { port } = await startTestService();
  const requests = [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n',
    '\x16\x03\x01\x02',
  ];
  for (const request of requests) {
    const { status, headers, body } = await reply(port, request);
    expect(status, request).toBe(400);
    expect(body).toEqual({ message: 'The bytes are not an HTTP/1.1 request', code: 'INVALID', status: 400 });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test('a body whose chunks are malformed gets 400 while its request has no response', async () => {
  const { port } = await startTestService();
  const head =
    'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
  expect(await reply(port, `${head}5\r\nhello\r\n`, 'zz\r\n')).toMatchObject({
    status: 400,
    body: { code: 'INVALID' },
  });
});

test('a Host that would change the URL of the request is refused', async () => {
  const { port } = await startTestService({ env: { ALLOWED_HOSTS: '*' } });
  for (const host of ['a/api/projects?', 'a#b', 'user@a', 'a\\b']) {
    expect(await send(port, '/api/docs', { headers: { host } }), host).toMatchObject({ status: 421 });
  }
  expect(await send(port, '/api/docs', { headers: { host: 'any.example.com' } })).toMatchObject({ status: 200 });
});

test('an unknown expectation gets 417 with the error body', async () => {
  const { port } = await startTestService();
  const { status, headers, text } = await send(port, '/graphql', {
    method: 'POST',
    headers: { expect: 'x' },
    body: '{}',
  });
  expect([status, JSON.parse(text)]).toEqual([
    417,
    { message: 'Expect can only be 100-continue', code: 'INVALID', status: 417 },
  ]);
  expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
});

test('a target with scheme and host is served as its path, and its host counts [RFC 9112 3.2.2]', async () => {
  const { port } = await startTestService();
  const statusOf = async (target: string, host: string) => {
    const socket = await connection(port);
    const text = received(socket);
    socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    return Number((await text).split(' ')[1]);
  };
  const own = `127.0.0.1:${port}`;
  expect(await statusOf(`http://${own}/healthz`, own)).toBe(200);
  expect(await statusOf(`HTTPS://${own}/healthz?x=1`, 'elsewhere.example')).toBe(200);
  expect(await statusOf('http://elsewhere.example/api', own)).toBe(421);
  expect(await statusOf(`http://${own}@elsewhere.example/healthz`, own)).toBe(404);
  expect(await statusOf(`ftp://${own}/healthz`, own)).toBe(404);
});
