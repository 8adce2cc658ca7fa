import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { MqttClient } from 'mqtt';
import { parser as createParser, generate, type Packet } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import type { ConnectedClientDetail } from '../../../src/protocol/apis/clients/inspect-data.ts';
import { parseClientDetail } from '../../../src/protocol/apis/clients/inspect-parser.ts';
import { isLong } from '../../support/suite.ts';
import { ADMINISTRATOR, connect, control, startBrokerHere, startTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { startTappedCore } from './tapped-core.ts';

const MEGABYTE = 1_000_000;

/** A subscriber that reads nothing after SUBACK, until it is resumed. */
async function pausedSubscriber(port: number, clientId: string, filter: string, qos: 0 | 1): Promise<Socket> {
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  const { username, password } = ADMINISTRATOR;
  const about = { protocolId: 'MQTT', protocolVersion: 4, keepalive: 0, clean: true } as const;
  socket.write(generate({ cmd: 'connect', clientId, username, password: Buffer.from(password), ...about }));
  await once(socket, 'data');
  socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: filter, qos }] }));
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** Publishes that arrive at a socket from now on. */
function publishesOf(socket: Socket): () => number {
  const parser = createParser({ protocolVersion: 4 });
  let count = 0;
  parser.on('packet', ({ cmd }: Packet) => {
    if (cmd === 'publish') count += 1;
  });
  socket.on('data', (chunk) => parser.parse(chunk));
  return () => count;
}

function counted(client: MqttClient): () => number {
  let count = 0;
  client.on('message', () => {
    count += 1;
  });
  return () => count;
}

async function detailOf(admin: MqttClient, clientid: string): Promise<ConnectedClientDetail | null> {
  const [answer] = await control(admin, 'cedalo/inspect', { commands: [{ command: 'getClient', clientid }] });
  return parseClientDetail(answer?.data);
}

test('QoS 0 messages beyond 1 MiB on the socket of a client are dropped and counted; another client gets all', async () => {
  const { mqttPort } = await startBrokerHere();
  const slow = await pausedSubscriber(mqttPort, 'slow', 'f/#', 0);
  const fast = await connect(mqttPort, { clientId: 'fast' });
  const received = counted(fast);
  await fast.subscribeAsync('f/#');
  const publisher = await connect(mqttPort);

  for (let n = 0; n < 40; n += 1) await publisher.publishAsync('f/x', Buffer.alloc(MEGABYTE), { qos: 0 });

  await expect.poll(received).toBe(40);
  const detail = await detailOf(publisher, 'slow');
  const dropped = Number(detail?.numDropped);
  // The kernel's buffers hold some megabytes.
  expect(dropped).toBeGreaterThan(20);
  expect((await detailOf(publisher, 'fast'))?.numDropped).toBe(0);
  const arrived = publishesOf(slow);
  slow.resume();
  await expect.poll(arrived).toBe(40 - dropped);
  await publisher.publishAsync('f/x', 'small', { qos: 0 });
  await expect.poll(arrived).toBe(41 - dropped);
});

test('a client that pauses below 1 MiB loses nothing', async () => {
  const { mqttPort } = await startBrokerHere();
  const paused = await pausedSubscriber(mqttPort, 'paused', 'f/#', 0);
  const publisher = await connect(mqttPort);

  for (let n = 0; n < 9; n += 1) await publisher.publishAsync('f/x', Buffer.alloc(100_000), { qos: 0 });

  const arrived = publishesOf(paused);
  expect((await detailOf(publisher, 'paused'))?.numDropped).toBe(0);
  paused.resume();
  await expect.poll(arrived).toBe(9);
});

test.each([
  { count: 40_000, bytes: 50 },
  { count: 40, bytes: MEGABYTE },
  ...(isLong ? [{ count: 100_000, bytes: 50 }] : []),
  ...(isLong ? [{ count: 200, bytes: MEGABYTE }] : []),
])(
  'a client that reads gets all of $count QoS 0 messages of $bytes bytes, as fast as they are published',
  async ({ count, bytes }) => {
    const { mqttPort } = await startTestBroker();
    const reader = await connect(mqttPort, { clientId: 'reader' });
    const received = counted(reader);
    await reader.subscribeAsync('f/#');
    const publisher = await connect(mqttPort);
    const payload = Buffer.alloc(bytes);

    for (let n = 0; n < count; n += 1) {
      const sent = publisher.publishAsync('f/x', payload, { qos: 0 });
      if (bytes === MEGABYTE || n % 1_000 === 999) await sent;
    }

    await expect.poll(received, { timeout: 40_000 }).toBe(count);
    expect((await detailOf(publisher, 'reader'))?.numDropped).toBe(0);
  },
);

test('a client without a session that leaves more than 32 MiB of QoS 1 on its socket is disconnected', async () => {
  // A socket may stay full for longer than the test takes.
  const { port, registry } = await startTappedCore(undefined, { drainTimeoutMs: 600_000 });
  await pausedSubscriber(port, 'slow', 'f/#', 1);
  const publisher = await connect(port);
  expect(registry.connection('slow')).toBeDefined();

  for (let n = 0; n < 60; n += 1) publisher.publish('f/x', Buffer.alloc(MEGABYTE), { qos: 1 });

  await expect.poll(() => registry.connection('slow')).toBeUndefined();
});

test('above the common limit, QoS 0 is dropped only for clients with more than their fair share on their sockets', async () => {
  const { port, core, registry } = await startTappedCore(undefined, { unsentTotalBytes: 2 * MEGABYTE });
  const slow = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const id of slow) await pausedSubscriber(port, id, `f/${id}`, 0);
  const reader = await connect(port, { clientId: 'reader' });
  const received = counted(reader);
  await reader.subscribeAsync('live');
  const publisher = await connect(port);
  const unsent = () => slow.reduce((sum, id) => sum + (registry.connection(id)?.unsentBytes ?? 0), 0);

  // Each alone may have a mebibyte, and more than the kernel's buffers hold is sent to each.
  for (let n = 0; n < 80; n += 1) {
    for (const id of slow) await publisher.publishAsync(`f/${id}`, Buffer.alloc(100_000), { qos: 0 });
    await publisher.publishAsync('live', 'small', { qos: 0 });
  }

  await expect.poll(received).toBe(80);
  expect(registry.connection('reader')?.counters.dropped).toBe(0);
  for (const id of slow) expect(registry.connection(id)?.counters.dropped).toBeGreaterThan(0);
  expect(core.droppedDeliveries).toBeGreaterThan(slow.length);
  expect(unsent()).toBeLessThan(4 * MEGABYTE);
});

test('the queues of many sessions have a common memory limit, also for messages without a payload', async () => {
  const { port, store } = await startTappedCore(undefined, { totalBytes: 100_000 });
  const ids = Array.from({ length: 20 }, (_, n) => `away-${n}`);
  for (const clientId of ids) {
    const client = await connect(port, { clientId, clean: false });
    await client.subscribeAsync('f', { qos: 1 });
    await client.endAsync();
  }
  const publisher = await connect(port);

  for (let n = 0; n < 100; n += 1) await publisher.publishAsync('f', '', { qos: 1 });

  const sessions = ids.map((id) => store.sessions.get(id));
  const queued = sessions.reduce((sum, session) => sum + (session?.queue.size ?? 0), 0);
  const dropped = sessions.reduce((sum, session) => sum + (session?.dropped ?? 0), 0);
  expect(queued).toBeGreaterThan(300);
  expect(queued).toBeLessThan(100_000 / 256);
  expect(queued + dropped).toBe(ids.length * 100);
});

test('the send windows of clients without a session have a common limit, and are released when the clients disconnect', async () => {
  const { port, registry } = await startTappedCore(undefined, { totalBytes: 1_000_000 });
  const publisher = await connect(port);
  const held = () => ['a', 'b'].reduce((sum, id) => sum + (registry.connection(id)?.flow.window?.queuedBytes ?? 0), 0);
  const dropped = () => ['a', 'b'].reduce((sum, id) => sum + (registry.connection(id)?.flow.window?.dropped ?? 0), 0);
  for (let round = 0; round < 2; round += 1) {
    const properties = { receiveMaximum: 1 };
    const clients = [];
    for (const clientId of ['a', 'b']) clients.push(await rawClient(port, { clientId, properties }, 'f'));

    for (let n = 0; n < 20; n += 1) await publisher.publishAsync('f', Buffer.alloc(100_000), { qos: 1 });

    expect(held()).toBeGreaterThan(800_000);
    expect(held()).toBeLessThan(1_000_000);
    expect(held() / 100_000 + dropped()).toBe(38);
    for (const client of clients) await client.leave();
    await expect.poll(() => registry.connection('a') ?? registry.connection('b')).toBeUndefined();
  }
});
