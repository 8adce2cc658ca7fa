import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { openStream } from '../../../src/protocol/mqtt/open-stream.ts';

async function openTo(server: Server): Promise<ReturnType<typeof openStream>> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stream = openStream({ protocol: 'ws', hostname: '127.0.0.1', port }, 1_000, () => undefined);
  // The first one closes the stream, which may not be open yet.
  return stream.on('error', () => undefined);
}

test('a broker cannot send compressed WebSocket messages', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server, perMessageDeflate: true });
  const connected = once(sockets, 'connection');
  const stream = await openTo(server);
  const [socket] = await connected;
  expect(socket.extensions).toBe('');
  stream.destroy();
});

test('a broker that sends interim responses without end loses the connection', async () => {
  const server = createServer().on('upgrade', (_request, socket: Socket) => {
    const send = () => {
      while (!socket.destroyed && socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)));
    };
    socket.on('error', () => undefined).on('drain', send);
    send();
  });
  const [error] = await once(await openTo(server), 'error', { signal: AbortSignal.timeout(60_000) }).catch(
    (error: Error) => [error],
  );
  expect(error.message).toContain('more than 10 interim responses (1xx)');
});
