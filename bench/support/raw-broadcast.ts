/**
 * The minimum of a fan-out: a `ws` server that sends each received text to all its clients. Runs as
 * `node raw-broadcast.js` with an IPC channel, and sends its port to the parent process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';

interface RawBroadcast {
  readonly pid: number;
  readonly port: number;
  close(): void;
}

export async function startRawBroadcast(): Promise<RawBroadcast> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url));
  const [port] = await once(child, 'message');
  return { pid: child.pid ?? 0, port, close: () => child.disconnect() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const text = String(data);
      for (const client of server.clients) client.send(text);
    });
  });
  process.on('disconnect', () => process.exit(0));
  server.on('listening', () => process.send?.((server.address() as AddressInfo).port));
}
