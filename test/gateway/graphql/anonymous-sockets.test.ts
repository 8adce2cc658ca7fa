import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { Broadcast } from '../../../src/gateway/live/broadcast.ts';
import type { Tick } from './graph.ts';
import { startGraphqlServer, type TestServer } from './server.ts';

// Signed-in callers are bounded elsewhere; other callers may occupy a connection only while it runs an operation.

async function open({ port }: TestServer, params: Record<string, unknown>) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const closed = once(socket, 'close').then(([code]) => code as number);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: params }));
  await once(socket, 'message');
  return { socket, closed };
}

const IDLE_MS = 200;

const start = async (anonymousIdleMs = IDLE_MS) => {
  const ticks = new Broadcast<Tick, Tick>(() => ({ n: 0 }));
  return startGraphqlServer({ ticks, keepAliveMs: 20, anonymousIdleMs });
};

const SUBSCRIBE = { id: '1', type: 'subscribe', payload: { query: 'subscription { ticks { n } }' } };

test('a WebSocket has 30 s for connection_init', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { port } = await start(600_000);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const closed = once(socket, 'close');
  await once(socket, 'open');
  // The pings of the service begin when it waits.
  await once(socket, 'ping');
  vi.advanceTimersByTime(29_000);
  await once(socket, 'ping');
  expect(socket.readyState).toBe(WebSocket.OPEN);
  vi.advanceTimersByTime(1_000);
  expect((await closed)[0]).toBe(4408);
});

test('an idle WebSocket without credentials is closed, others stay open', async () => {
  // The time passes only here: on a busy machine, a subscription may come later than the limit.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const afterLimit = async ({ closed }: { readonly closed: Promise<number> }) => {
    let code = 0;
    void closed.then((value) => {
      code = value;
    });
    await expect
      .poll(() => {
        vi.setSystemTime(Date.now() + IDLE_MS);
        return code;
      })
      .not.toBe(0);
    return code;
  };
  const server = await start();
  const [signedIn, running] = await Promise.all([open(server, { token: 'ann' }), open(server, {})]);
  running.socket.send(JSON.stringify(SUBSCRIBE));
  await once(running.socket, 'message');
  expect(await afterLimit(await open(server, {}))).toBe(4401);
  // Both sockets are older.
  expect([signedIn.socket.readyState, running.socket.readyState]).toEqual([WebSocket.OPEN, WebSocket.OPEN]);

  running.socket.send(JSON.stringify({ id: '1', type: 'complete' }));
  expect(await afterLimit(running)).toBe(4401);
  expect(signedIn.socket.readyState).toBe(WebSocket.OPEN);
});
