import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startTestService } from './support/service.ts';

const upgradeTo = (path: string, extra = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extra}\r\n`;

test('a caller who resets the connection while its upgrade is refused harms nobody', async () => {
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

test('the service stops soon while a WebSocket is open', async () => {
  const service = await startTestService();
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  await once(socket, 'open');
  const closed = once(socket, 'close');
  const start = performance.now();
  await service.close();
  expect(performance.now() - start).toBeLessThan(3_000);
  expect((await closed)[0]).toBe(1001);
});

test('a refused upgrade is cut, whether its caller leaves or not', async () => {
  const { port } = await startTestService();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(upgradeTo('/elsewhere'));
  socket.resume();
  await once(socket, 'end');
  // Writing tells: what the service closed wholly answers with a reset.
  await new Promise<void>((cut) => {
    socket.on('error', () => cut());
    socket.write('more');
    const timer = setInterval(() => socket.write('more'), 20);
    socket.once('close', () => clearInterval(timer));
  });
});
