import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { HAPROXY_MISSING, hasHaproxy, startHaproxy } from '../support/haproxy.ts';

/** Servers that only respond, or only fail, are always chosen: the checks of the balancer are off. */
const withoutChecks = (settings: string) => settings.replace('default-server check', 'default-server');

/** Responds to each request, and counts them by method. */
async function startResponding() {
  const received: Record<string, number> = { GET: 0, POST: 0 };
  const server = createServer((req, res) => {
    received[req.method ?? ''] = (received[req.method ?? ''] ?? 0) + 1;
    req.resume().on('end', () => res.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, received };
}

/** Reads the head of each request and closes the connection, like a process that is killed. */
async function startDying() {
  const received: string[] = [];
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      received.push(String(data).split(' ')[0] ?? '');
      socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, received };
}

/** Sends a request on a connection of its own and returns the status. */
async function send(url: string, method: 'GET' | 'POST'): Promise<number | undefined> {
  const req = request(`${url}/graphql`, { method, agent: false });
  req.end(method === 'POST' ? '{}' : undefined);
  const [res] = await once(req, 'response');
  await text(res);
  return res.statusCode;
}

describe.skipIf(!hasHaproxy)(hasHaproxy ? 'behind HAProxy' : HAPROXY_MISSING, () => {
  test('a request that a process received is repeated only if its method changes nothing', async () => {
    const [dying, responding] = [await startDying(), await startResponding()];
    const url = await startHaproxy([dying.port, responding.port], withoutChecks);
    const statuses = { GET: [] as unknown[], POST: [] as unknown[] };
    for (const method of ['GET', 'POST'] as const)
      for (let n = 0; n < 6; n++) statuses[method].push(await send(url, method));
    expect(statuses.GET).toEqual(Array(6).fill(200));
    expect(dying.received).toContain('GET');
    const lost = dying.received.filter((method) => method === 'POST').length;
    expect(lost).toBeGreaterThan(0);
    expect(statuses.POST.filter((status) => status === 502)).toHaveLength(lost);
    expect(responding.received.POST).toBe(6 - lost);
  });

  test('a request that no process received is sent to another one, whatever its method', async () => {
    const responding = await startResponding();
    const url = await startHaproxy([await freePort(), responding.port], withoutChecks);
    for (let n = 0; n < 4; n++) expect([await send(url, 'GET'), await send(url, 'POST')]).toEqual([200, 200]);
    expect(responding.received).toEqual({ GET: 4, POST: 4 });
  });
});
