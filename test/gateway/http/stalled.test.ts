import { once } from 'node:events';
import { Response } from '@whatwg-node/server';
import { expect, onTestFinished, test } from 'vitest';
import { Gateway } from '../../../src/gateway/http/gateway.ts';
import { startHttpServer } from '../../../src/gateway/http/http-server.ts';
import { connection } from './requests.ts';

/** More than the buffers of the operating system hold. */
const LARGE = Buffer.alloc(32 * 1_048_576);
/** Several times the pause between two reads of the slow client on a loaded machine. */
const STALLED_MS = 5_000;

async function start() {
  const unused = { handle: () => undefined, fetch: async () => new Response(), upgrade: () => undefined };
  const rest = () => new Response(LARGE);
  const server = await startHttpServer({ host: '127.0.0.1', port: 0, stalledMs: STALLED_MS });
  const metrics = { observe: () => undefined };
  server.serve(new Gateway({ graphql: unused, rest, metrics, whyNotReady: async () => null }));
  onTestFinished(() => server.close());
  return server;
}

test('a connection is closed if its client receives nothing, but not if it receives slowly', async () => {
  const { port, connections } = await start();
  const [stalled, slow] = [await connection(port), await connection(port)];
  for (const socket of [stalled, slow]) {
    socket.pause();
    socket.write('GET /api/large HTTP/1.1\r\nHost: localhost\r\n\r\n');
  }
  let size = 0;
  let isOpen = true;
  slow.once('close', () => {
    isOpen = false;
  });
  await expect
    .poll(
      () => {
        size += slow.read(32_768)?.length ?? 0;
        return connections.stalledCount;
      },
      { timeout: 30_000, interval: 50 },
    )
    .toBe(1);
  expect(isOpen).toBe(true);
  const closed = once(stalled, 'close');
  stalled.resume();
  await closed;
  // The slow client gets the rest.
  slow.on('data', (piece: Buffer) => {
    size += piece.length;
  });
  slow.resume();
  await expect.poll(() => size).toBeGreaterThan(LARGE.length);
  expect(connections.stalledCount).toBe(1);
});
