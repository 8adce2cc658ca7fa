import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { startService } from '../../../src/app/service.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { databaseOfRun, silentLog, temporaryFolder } from '../../support/database.ts';
import { startTestService } from '../../support/service.ts';

/** From now on, time passes only by `vi.advanceTimersByTime`. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

const upgradeTo = (path: string, extra = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`;

test('a connection reset during a refused upgrade does not affect the service', async () => {
  const { port, url } = await startTestService();
  for (const request of [upgradeTo('/elsewhere'), upgradeTo('/graphql', 'Origin: https://evil.example\r\n')]) {
    for (let i = 0; i < 20; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(request);
      socket.resetAndDestroy();
    }
  }
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('the service stops while a WebSocket is open, and closes it with 1001', async () => {
  const service = await startTestService();
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  await once(socket, 'open');
  const closed = once(socket, 'close');
  await service.close();
  expect((await closed)[0]).toBe(1001);
});

test('the service stops while a connection without a request is open, before its deadline for responses', async () => {
  const service = await startTestService();
  const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  // A response on another connection shows that the service has accepted this one.
  await fetch(`${service.url}/healthz`);
  stopTimers();
  await service.close();
});

test('before the shutdown, requests are served but the service is not ready', async () => {
  const service = await startTestService({ env: { SHUTDOWN_DELAY_MS: '10000' } });
  const ready = await fetch(`${service.url}/readyz`);
  expect([ready.status, ready.headers.get('connection')]).toEqual([200, 'keep-alive']);
  // No broker is to be connected.
  expect(await ready.json()).toEqual({ status: 'ready', connectedBrokers: null });
  const closed = service.close();
  const [notReady, healthy, { data }] = await Promise.all([
    fetch(`${service.url}/readyz`),
    fetch(`${service.url}/healthz`),
    service.graphql('{ viewer { __typename } }'),
  ]);
  expect([notReady.status, healthy.status, data.viewer.__typename]).toEqual([503, 200, 'Viewer']);
  // Clients open the next connection at another process.
  expect(healthy.headers.get('connection')).toBe('close');
  await closed;
  await expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed');
});

test('of several pipelined event streams only the first is open, and it ends with its connection', async () => {
  const { port, url, root, projectId } = await startTestService();
  const query = `subscription { brokerStatus(projectId: "${projectId}") { kind } }`;
  const request = [
    `GET /graphql?${new URLSearchParams({ query })} HTTP/1.1`,
    'Host: localhost',
    'Accept: text/event-stream',
    `Authorization: Bearer ${root}`,
    '\r\n',
  ].join('\r\n');
  const open = async () => /^brokergraph_subscriptions (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write(request.repeat(5));
  await expect.poll(open).toBe('1');
  socket.destroy();
  await expect.poll(open).toBe('0');
});

test('the connection of a refused upgrade is closed, whether its client closes it or not', async () => {
  const { port } = await startTestService();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(upgradeTo('/elsewhere'));
  socket.resume();
  await once(socket, 'end');
  // A write shows it: a connection that the service closed completely responds with a reset.
  await new Promise<void>((cut) => {
    socket.on('error', () => cut());
    socket.write('more');
    const timer = setInterval(() => socket.write('more'), 20);
    socket.once('close', () => clearInterval(timer));
  });
});

test('a start that fails on a port in use creates no administrator, so the next start shows the password', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const dataDir = temporaryFolder();
  const env = { DATA_DIR: dataDir, EMBEDDED_BROKER: 'off' };
  const databaseUrl = await databaseOfRun();
  const start = (portOf: number) =>
    startService(
      readConfig({ ...env, PORT: String(portOf), ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) }),
      { log: silentLog },
    );
  await expect(start(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const service = await start(0);
  onTestFinished(() => service.close());
  expect(service.report.rootPassword?.generated).toMatch(/^\w{5}-/);
});

test('each request is logged at level debug with its id and without its query string', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const service = await startService(readConfig({ PORT: '0', DATA_DIR: temporaryFolder(), EMBEDDED_BROKER: 'off' }), {
    log,
  });
  onTestFinished(() => service.close());
  const { url } = service.report;
  await fetch(`${url}/api/projects?token=secret`, { headers: { 'x-request-id': 'mine-1' } });
  await fetch(`${url}/graphql`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  const requests = () => lines.filter(({ msg }) => msg === 'request');
  await expect.poll(() => requests().length).toBe(2);
  expect(requests()[0]).toMatchObject({ requestId: 'mine-1', method: 'GET', path: '/api/projects', status: 401 });
  expect(requests()[1]).toMatchObject({ requestId: expect.any(String), method: 'POST', path: '/graphql' });
  expect(requests()[1]?.ms).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toContain('secret');
});
