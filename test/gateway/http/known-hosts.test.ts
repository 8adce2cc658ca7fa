import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { connection, received, send } from './requests.ts';

const PATHS = ['/graphql?query={__typename}', '/api/projects', '/metrics', '/', '/docs', '/auth/oidc'];
const ALIEN = 'rebound.example.com';

const statusFor = async (port: number, host: string) =>
  (await send(port, '/api/projects', { headers: { host } })).status;

test('a request with an unknown name in its Host header is refused on every path but those of probes', async () => {
  const { port } = await startTestService();
  for (const path of PATHS) {
    const { status, text } = await send(port, path, { headers: { host: `${ALIEN}:${port}`, accept: 'text/html' } });
    expect({ path, status }).toEqual({ path, status: 421 });
    expect(JSON.parse(text)).toMatchObject({ code: 'UNKNOWN_HOST', status: 421 });
    expect(text).toContain('ALLOWED_HOSTS');
  }
  for (const path of ['/healthz', '/readyz']) {
    expect((await send(port, path, { headers: { host: ALIEN } })).status).toBe(200);
  }
});

test('names of this machine and all IP addresses are accepted, with any port', async () => {
  const { port } = await startTestService();
  const known = [
    'localhost',
    `localhost:${port}`,
    'LOCALHOST.',
    '127.0.0.1',
    '10.1.2.3:80',
    '[::1]',
    `[fd00::1]:${port}`,
  ];
  for (const host of [...known, 'app.localhost', hostname()]) {
    expect({ host, status: await statusFor(port, host) }).toEqual({ host, status: 401 });
  }
  const alien = [ALIEN, 'localhost.example.com', '127.0.0.1.example.com', '1', 'xlocalhost', '[::1].example.com'];
  for (const host of alien) expect({ host, status: await statusFor(port, host) }).toEqual({ host, status: 421 });
});

test('the name of PUBLIC_URL and those of ALLOWED_HOSTS are accepted', async () => {
  const env = { PUBLIC_URL: 'https://brokers.example.com/at', ALLOWED_HOSTS: 'gateway.internal, *.corp.example.com' };
  const { port } = await startTestService({ env });
  for (const host of ['brokers.example.com', 'gateway.internal:8443', 'a.corp.example.com', 'a.b.corp.example.com']) {
    expect({ host, status: await statusFor(port, host) }).toEqual({ host, status: 401 });
  }
  for (const host of ['other.example.com', 'corp.example.com', 'xcorp.example.com']) {
    expect({ host, status: await statusFor(port, host) }).toEqual({ host, status: 421 });
  }
});

test('ALLOWED_HOSTS=* accepts every name', async () => {
  const { port } = await startTestService({ env: { ALLOWED_HOSTS: '*' } });
  expect(await statusFor(port, ALIEN)).toBe(401);
});

test('a WebSocket with an unknown name in its Host header is refused, and one with a known name is opened', async () => {
  const { port } = await startTestService();
  const upgrade = async (host: string) => {
    const socket = await connection(port);
    const head = received(socket, (text) => text.includes('\r\n\r\n'));
    const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    const protocol = 'Sec-WebSocket-Protocol: graphql-transport-ws';
    const origin = `Origin: http://${host}`;
    const lines = [`Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket', key, protocol, origin];
    socket.write(`GET /graphql HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    return (await head).split('\r\n')[0];
  };
  expect(await upgrade(ALIEN)).toBe('HTTP/1.1 421 Misdirected Request');
  expect(await upgrade(`localhost:${port}`)).toBe('HTTP/1.1 101 Switching Protocols');
});
