import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startListener } from '../../../src/data-plane/broker/listening/listener.ts';
import { createAuthority } from '../../support/certificates.ts';
import { listener } from './embedded.ts';
import { shakeHands } from './tls.ts';

const CA = createAuthority();
const SERVER = CA.issue();

/** A TLS listener that sends back what comes, in this thread. `reasons`: why connections were refused. */
async function startEcho(limits: { readonly maxHandshakes?: number; readonly handshakeTimeoutMs?: number } = {}) {
  const reasons: string[] = [];
  let accepted = 0;
  const { info, tls, close } = await startListener(listener({ tls: true }), {
    maxConnections: 10_000,
    maxPacketBytes: 1_000,
    maxHandshakes: 1_000,
    handshakeTimeoutMs: 600_000,
    ...limits,
    accept: (connection, stream) => {
      accepted += 1;
      stream.on('error', () => {});
      onTestFinished(() => connection.destroy());
      stream.pipe(stream);
    },
    onError: (error) => {
      throw error;
    },
    onRefused: (_listener, reason) => reasons.push(reason),
  });
  onTestFinished(close);
  if (tls === null) throw new Error('a listener with TLS');
  tls.use(tls.prepare({ server: SERVER, authorities: [] }));
  return { port: info.port, tls, reasons, accepted: () => accepted, close };
}

/** A TCP connection that sent `bytes`, and what became of it. */
async function dial(port: number, bytes: string | Buffer = '') {
  const socket: Socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  if (bytes.length > 0) socket.write(bytes);
  return { socket, closed };
}

/** The beginning of a ClientHello: the rest of its record never comes. */
const HALF_HELLO = Buffer.from('16030101f4010001f00303', 'hex');

async function echoes(socket: Socket, text: string): Promise<boolean> {
  socket.write(text);
  return new Promise((resolve) => {
    const done = (answer: unknown) => {
      socket.off('data', done).off('close', done);
      resolve(String(answer) === text);
    };
    socket.once('data', done).once('close', done);
  });
}

test('bytes that are not TLS close their connection and no other', async () => {
  const { port, reasons, accepted } = await startEcho();
  const client = await shakeHands(port);
  const garbage = [
    'GET / HTTP/1.1\r\n\r\n',
    Buffer.from('101000044d5154540402003c0000', 'hex'),
    Buffer.alloc(100_000, 0xff),
  ];
  for (const bytes of garbage) await (await dial(port, bytes)).closed;
  const silent = await dial(port);
  silent.socket.end();
  await silent.closed;
  expect(reasons).toEqual(['http request', 'wrong version number', 'wrong version number']);
  expect(await echoes(client, 'still here')).toBe(true);
  expect(await echoes(await shakeHands(port), 'new')).toBe(true);
  expect(accepted()).toBe(2);
});

test('handshakes that take too long are closed, with or without a first part; finished ones stay', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { port, reasons } = await startEcho({ handshakeTimeoutMs: 1_000 });
  const client = await shakeHands(port);
  const slow = await Promise.all([dial(port), dial(port, HALF_HELLO), dial(port, HALF_HELLO.subarray(0, 1))]);
  // Who comes later is accepted later; that it is in is known by its first answer.
  const later = await shakeHands(port);
  expect(await echoes(later, 'hello')).toBe(true);
  vi.advanceTimersByTime(1_000);
  await Promise.all(slow.map(({ closed }) => closed));
  expect(reasons).toEqual(slow.map(() => 'it took longer than 1000 ms'));
  for (const socket of [client, later]) expect(await echoes(socket, 'still here')).toBe(true);
});

test('beyond the limit a new handshake is refused while the others are young, and replaces a stalled one when they are old', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { port, reasons } = await startEcho({ maxHandshakes: 3 });
  const client = await shakeHands(port);
  const stalled = [await dial(port), await dial(port, HALF_HELLO), await dial(port)];
  await (await dial(port)).closed;
  expect(reasons).toEqual(['there are 3 handshakes already']);
  vi.setSystemTime(Date.now() + 2_000);
  // Each handshake that is done leaves a place; the first one had to be made.
  for (const text of ['one', 'two', 'three']) expect(await echoes(await shakeHands(port), text)).toBe(true);
  await stalled[0]?.closed;
  expect(stalled.map(({ socket }) => socket.closed)).toEqual([true, false, false]);
  expect(await echoes(client, 'still here')).toBe(true);
});

test('during many real and fake handshakes all clients are admitted, and connected clients are served', async () => {
  const { port, accepted } = await startEcho();
  const client = await shakeHands(port);
  const pretended = Array.from({ length: 60 }, (_, index) => dial(port, index % 2 === 0 ? HALF_HELLO : ''));
  let isOver = false;
  const flood = Promise.all(Array.from({ length: 80 }, () => shakeHands(port))).finally(() => {
    isOver = true;
  });
  let served = 0;
  while (!isOver) {
    expect(await echoes(client, `message ${served}`)).toBe(true);
    served += 1;
  }
  expect((await flood).every((socket) => !socket.destroyed)).toBe(true);
  await Promise.all(pretended);
  expect(accepted()).toBe(81);
  expect(served).toBeGreaterThan(1);
});

test('one handshake starts per iteration of the event loop', async () => {
  const { port, tls } = await startEcho();
  const { server } = tls.prepare({ server: SERVER, authorities: [] });
  const perTurn = new Map<number, number>();
  let turn = 0;
  const count = () => {
    turn += 1;
    if (turn > 0) next = setImmediate(count);
  };
  let next = setImmediate(count);
  onTestFinished(() => clearImmediate(next));
  server.on('connection', () => perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1));
  tls.use({ server, material: { server: SERVER, authorities: [] } });
  await Promise.all(Array.from({ length: 50 }, () => shakeHands(port)));
  expect([...perTurn.values()].reduce((sum, many) => sum + many, 0)).toBe(50);
  expect(Math.max(...perTurn.values())).toBe(1);
});

test('a started handshake continues when the server certificate is replaced, and is closed when authorities change', async () => {
  const { port, tls } = await startEcho();
  const client = await shakeHands(port);
  const begun = await dial(port, HALF_HELLO);
  const silent = await dial(port);
  const good = () => shakeHands(port).then((socket) => echoes(socket, 'good'));
  expect(await good()).toBe(true);
  tls.use(tls.prepare({ server: CA.issue(), authorities: [] }));
  expect(await good()).toBe(true);
  expect(begun.socket.closed).toBe(false);
  tls.use(tls.prepare({ server: SERVER, authorities: [CA.leaf] }));
  await begun.closed;
  expect(silent.socket.closed).toBe(false);
  expect(await echoes(client, 'still here')).toBe(true);
  expect(await good()).toBe(true);
});

test('a listener that is closed closes its handshakes', async () => {
  const { port, close } = await startEcho();
  const [begun, silent] = [await dial(port, HALF_HELLO), await dial(port)];
  await shakeHands(port);
  close();
  await Promise.all([begun.closed, silent.closed]);
});
