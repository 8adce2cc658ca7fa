import { createConnection, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Connection } from '../../../src/data-plane/broker/clients/connection.ts';

test('a removed listener for the end of a connection leaves nothing behind', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const client = createConnection(port, '127.0.0.1');
  const socket = await accepted;
  const connection = new Connection(socket, socket, {
    number: 1,
    port,
    host: '127.0.0.1',
    protocol: 'MQTT',
    tls: false,
    requireCertificate: false,
  });
  const before = socket.listenerCount('close');
  const told: string[] = [];
  for (let round = 0; round < 20; round++) connection.onClosed(() => told.push('gave up'))();
  expect(socket.listenerCount('close')).toBe(before);
  connection.onClosed(() => told.push('waits'));
  client.destroy();
  socket.resume();
  await connection.whenClosed();
  connection.onClosed(() => told.push('late'));
  expect(told).toEqual(['waits', 'late']);
});
