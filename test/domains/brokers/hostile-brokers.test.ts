import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { CONTROL_LINK_LIMITS } from '../../../src/protocol/mqtt/packet-limits.ts';
import { newReadingLimits } from '../../../src/protocol/mqtt/reading-limits.ts';
import { ReadingTimeLimit } from '../../../src/protocol/mqtt/reading-time-limit.ts';
import { busyMs } from '../../support/busy-time.ts';
import { openLink, reached } from '../../support/link.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const MIB = 1_048_576;
/** Of both versions: the length of CONNACK's properties is a byte more. */
const CONNACK = Buffer.from([0x20, 3, 0, 0, 0]);

type Attack = (socket: Socket) => void;

/** A server that answers CONNECT, and does what it likes then. */
async function startHostileBroker(attack: Attack, connack = CONNACK) {
  const connects: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (connect) => {
      connects.push(connect);
      socket.write(connack);
      attack(socket);
      socket.resume();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `mqtt://127.0.0.1:${(server.address() as { port: number }).port}`, connects };
}

/** Writes as fast as the other side takes it, until the socket closes. */
function keepWriting(socket: Socket, next: () => Buffer | null): void {
  const write = () => {
    for (let chunk = next(); chunk !== null; chunk = next()) if (socket.destroyed || !socket.write(chunk)) return;
  };
  socket.on('drain', () => setImmediate(write));
  write();
}

const FIVE = { protocolVersion: 5 } as const;
const ZEROS = Buffer.alloc(65_536);

/** PUBLISH of so many bytes of payload, of which the last one never comes. */
function endlessPublish(topic: string, length: number): Attack {
  const header = generate({ cmd: 'publish', topic, payload: '', qos: 0, retain: false, dup: false }, FIVE).subarray(2);
  const rest = header.length + length;
  const bytes = [0, 7, 14, 21].map((shift) => ((rest >> shift) & 0x7f) | (shift < 21 ? 0x80 : 0));
  const start = Buffer.concat([Buffer.from([0x30, ...bytes]), header]);
  return (socket) => {
    let left = length - 1;
    socket.write(start);
    keepWriting(socket, () => {
      const chunk = ZEROS.subarray(0, Math.min(left, ZEROS.length));
      left -= chunk.length;
      return chunk.length === 0 ? null : chunk;
    });
  };
}

/** Publishes on the topics again and again, in chunks of 500 messages. */
function flood(topics: number, topicOf: (count: number) => string): Attack {
  const publish = { cmd: 'publish', qos: 0, retain: false, dup: false } as const;
  const chunks = Array.from({ length: Math.ceil(topics / 500) }, (_, chunk) => {
    const numbers = Array.from({ length: 500 }, (_, index) => 500 * chunk + index);
    const payload = 'New connection from 127.0.0.1:51234 on port 1883.';
    return Buffer.concat(numbers.map((number) => generate({ ...publish, topic: topicOf(number), payload }, FIVE)));
  });
  return (socket) => {
    let next = 0;
    keepWriting(socket, () => chunks[next++ % chunks.length] ?? null);
  };
}

async function addBroker({ graphql, projectId }: TestService, name: string, url: string): Promise<string> {
  const { data, errors } = await graphql(
    'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }',
    { input: { projectId, name, url } },
  );
  expect(errors).toBeUndefined();
  return data.addBroker.broker.id;
}

const statusOf = ({ services }: TestService, id: string) => services.runtimes.status(id);

test.each([
  ['a topic of $SYS', '$SYS/broker/version', 62 * MIB, /of 6\d+ bytes; at most 8454144/],
  ['a topic of $SYS, within what control responses may have', '$SYS/broker/version', 2 * MIB, /at most 1114112/],
  ['a control response', '$CONTROL/dynamic-security/v1/response', 9 * MIB, /at most 8454144/],
])('an endless PUBLISH is cut off at its header: %s', async (_what, topic, length, reason) => {
  const { url } = await startHostileBroker(endlessPublish(topic, length));
  const link = openLink({ url });
  await reached(link, 'CONNECTED');
  const { lastError } = await reached(link, 'UNREACHABLE');
  expect(lastError).toMatch(reason);
});

test('control responses of eight megabytes arrive, and the Maximum Packet Size is sent', async () => {
  // The default of Mosquitto 2.1 is 2,000,000 bytes.
  const broker = await startMosquitto({ lines: [`max_packet_size ${16 * MIB}`] });
  const link = openLink({ url: broker.url });
  await reached(link, 'CONNECTED');
  const lengths = new Map<string, number>();
  await link.subscribe('large/#', ({ topic, payload }) => lengths.set(topic, payload.length));
  const client = await broker.client({ protocolVersion: 5 });
  // Mosquitto itself leaves out what is larger than was announced.
  await client.publishAsync('large/9', Buffer.alloc(9 * MIB));
  await client.publishAsync('large/0', Buffer.alloc(MIB));
  await expect.poll(() => lengths.get('large/0')).toBe(MIB);
  expect(lengths.has('large/9')).toBe(false);
  expect(link.status.state).toBe('CONNECTED');
  // Only a broker publishes below $CONTROL, so a server stands in for one.
  const response = generate(
    {
      cmd: 'publish',
      topic: '$CONTROL/x/v1/response',
      payload: Buffer.alloc(8 * MIB, 1),
      qos: 0,
      retain: false,
      dup: false,
    },
    { protocolVersion: 5 },
  );
  const hostile = await startHostileBroker((socket) => {
    socket.on('data', (data: Buffer) => {
      if (data[0] !== 0x82) return;
      // SUBACK to whatever was asked.
      socket.write(Buffer.from([0x90, 4, data[2] as number, data[3] as number, 0, 0]));
      socket.write(response);
    });
  });
  const other = openLink({ url: hostile.url });
  await reached(other, 'CONNECTED');
  let length = 0;
  await other.subscribe('$CONTROL/x/v1/response', ({ payload }) => {
    length = payload.length;
  });
  await expect.poll(() => length).toBe(8 * MIB);
});

test('WebSocket messages and packets before CONNACK are also bounded', async () => {
  const server = createWebServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  onTestFinished(() => {
    sockets.close();
    server.close();
    server.closeAllConnections();
  });
  sockets.on('connection', (socket) => {
    const stream = createWebSocketStream(socket);
    stream.on('error', () => undefined);
    stream.once('data', () => {
      stream.write(CONNACK);
      stream.write(Buffer.alloc(10 * MIB, 0xd0));
    });
  });
  const { port } = server.address() as { port: number };
  const link = openLink({ url: `ws://127.0.0.1:${port}` });
  await reached(link, 'CONNECTED');
  expect((await reached(link, 'UNREACHABLE')).lastError).toBe('The broker sent a message that exceeds the size limit');

  const early = await startHostileBroker(endlessPublish('$SYS/a', MIB / 2), Buffer.alloc(0));
  const other = openLink({ url: early.url, timeoutMs: 500 });
  expect((await reached(other, 'UNREACHABLE')).lastError).toMatch(/^The broker did not/);
  const first = await startHostileBroker((socket) => {
    const publish = { cmd: 'publish', topic: 'a', payload: 'x', qos: 0, retain: false, dup: false } as const;
    socket.write(generate(publish, { protocolVersion: 5 }));
  }, Buffer.alloc(0));
  const third = openLink({ url: first.url, timeoutMs: 30_000 });
  expect((await reached(third, 'UNREACHABLE')).lastError).toBe('The broker did not follow the MQTT protocol');
});

test('incomplete packets of all links share one budget, and the link with the most bytes is closed', async () => {
  const readingLimits = newReadingLimits();
  const hostile = await startHostileBroker(endlessPublish('$CONTROL/a/v1/response', 8 * MIB - 1_000));
  const links = Array.from({ length: 12 }, (_, index) =>
    openLink({ id: `link-${index}`, url: hostile.url, readingLimits }),
  );
  await expect
    .poll(() => links.some(({ status }) => /incomplete packets of all links/.test(status.lastError ?? '')))
    .toBe(true);
  expect(readingLimits.unfinished.total).toBeLessThanOrEqual(64 * MIB);
  await Promise.all(links.map((link) => link.close()));
  await expect.poll(() => readingLimits.unfinished.total).toBe(0);
});

test('a service with thirty brokers that never end a packet has bounded memory and serves the others', async () => {
  const service = await startTestService();
  const healthy = await startMosquitto();
  const hostile = await startHostileBroker(endlessPublish('$SYS/broker/version', 62 * MIB));
  const slow = await startHostileBroker(endlessPublish('$CONTROL/dynamic-security/v1/response', 8 * MIB - 1_000));
  const own = await addBroker(service, 'healthy', healthy.url);
  await expect.poll(() => statusOf(service, own).state).toBe('CONNECTED');
  global.gc?.();
  const before = process.memoryUsage();
  const ids: string[] = [];
  for (let count = 0; count < 15; count += 1) {
    ids.push(await addBroker(service, `hostile ${count}`, hostile.url));
    ids.push(await addBroker(service, `slow ${count}`, slow.url));
  }
  let most = 0;
  const watch = setInterval(() => {
    const { rss, external } = process.memoryUsage();
    most = Math.max(most, rss - before.rss, external - before.external);
  }, 50);
  onTestFinished(() => clearInterval(watch));
  // Each reconnects, and is CONNECTED for a moment.
  const reasons = new Map<string, string>();
  const look = () => {
    for (const id of ids) reasons.set(id, statusOf(service, id).lastError ?? reasons.get(id) ?? '');
    return [...reasons.values()];
  };
  const counted = (pattern: RegExp) => look().filter((reason) => pattern.test(reason)).length;
  await expect.poll(() => counted(/at most/), { timeout: 30_000, interval: 5 }).toBe(15);
  await expect
    .poll(() => counted(/incomplete packets of all links/), { timeout: 30_000, interval: 5 })
    .toBeGreaterThan(0);
  const { data } = await service.graphql('query ($id: ID!) { broker(id: $id) { connection { state } } }', { id: own });
  expect(data.broker.connection.state).toBe('CONNECTED');
  // It was 60 MB for each of them.
  expect(most).toBeLessThan(500 * MIB);
});

test('a broker that floods its link is read in slices, and other work continues', async () => {
  const time = new ReadingTimeLimit();
  const slices = new Map<string, number>();
  const slice = time.slice.bind(time);
  time.slice = (key, ...rest) => {
    slices.set(key, (slices.get(key) ?? 0) + 1);
    return slice(key, ...rest);
  };
  const readingLimits = newReadingLimits(time);
  const hostile = await startHostileBroker(flood(1, () => '$SYS/broker/log/N'));
  // Longer than the test: a subscription without SUBACK hears until its timeout.
  const options = { url: hostile.url, readingLimits, timeoutMs: 120_000 };
  const links = Array.from({ length: 10 }, (_, index) => openLink({ id: `flood-${index}`, ...options }));
  let heard = 0;
  await Promise.all(links.map((link) => reached(link, 'CONNECTED')));
  for (const link of links) {
    // No SUBACK ever comes: what is sent all the same is matched.
    link.subscribe('$SYS/broker/log/#', () => (heard += 1)).catch(() => undefined);
  }
  const healthy = await startMosquitto();
  const own = openLink({ id: 'healthy', url: healthy.url, readingLimits });
  await reached(own, 'CONNECTED');
  for (let round = 0; round < 20; round += 1) await own.ping();
  // Which of them use more than their share depends on how the machine divides its time.
  const slicesOf = ({ clientId }: { readonly clientId: string }) => slices.get(clientId) ?? 0;
  await expect.poll(() => Math.max(...links.map(slicesOf))).toBeGreaterThan(20);
  // Time that a busy machine takes from the thread counts for the link that is read.
  expect(slicesOf(own)).toBeLessThan(4);
  const before = heard;
  await expect.poll(() => heard).toBeGreaterThan(before);
  for (const link of links) expect(link.status.state).toBe('CONNECTED');
});

test('a single burst of a broker is read completely', async () => {
  const readingLimits = newReadingLimits(new ReadingTimeLimit());
  const publish = (number: number) =>
    generate(
      { cmd: 'publish', topic: `$SYS/topic/${number}`, payload: `${number}`, qos: 0, retain: false, dup: false },
      { protocolVersion: 5 },
    );
  const hostile = await startHostileBroker((socket) => {
    socket.on('data', (data: Buffer) => {
      if (data[0] !== 0x82) return;
      socket.write(Buffer.from([0x90, 4, data[2] as number, data[3] as number, 0, 0]));
      socket.write(Buffer.concat(Array.from({ length: 10_000 }, (_, number) => publish(number))));
    });
  });
  const link = openLink({ url: hostile.url, readingLimits, limits: CONTROL_LINK_LIMITS });
  await reached(link, 'CONNECTED');
  const numbers: number[] = [];
  await link.subscribe('$SYS/#', ({ payload }) => {
    numbers.push(Number(payload.toString()));
    // Listeners cost time, too.
    const until = performance.now() + 0.01;
    while (performance.now() < until);
  });
  await expect.poll(() => numbers.length).toBe(10_000);
  expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, number) => number));
});

test('the service responds while a broker floods its log and another one sends 100,000 topics', async () => {
  const service = await startTestService();
  const logs = await startHostileBroker(flood(1, () => '$SYS/broker/log/N'));
  const topics = await startHostileBroker(flood(100_000, (count) => `$SYS/broker/x/${count}`));
  const healthy = await startMosquitto();
  const own = await addBroker(service, 'healthy', healthy.url);
  const ids = [await addBroker(service, 'logs', logs.url), await addBroker(service, 'topics', topics.url)];
  for (const id of [own, ...ids]) await expect.poll(() => statusOf(service, id).state).toBe('CONNECTED');
  // Processor time between request and response, the reading of the flood included.
  const costs: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const before = busyMs();
    const { data } = await service.graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id: own });
    expect(data.broker.isConnected).toBe(true);
    costs.push(busyMs() - before);
  }
  costs.sort((a, b) => a - b);
  expect(costs[10]).toBeLessThan(100);
  expect(statusOf(service, ids[0] ?? '').state).toBe('CONNECTED');
});

test('a session is taken over without storing its messages', async () => {
  const hostile = await startHostileBroker(
    (socket) => {
      endlessPublish('a', 100 * MIB)(socket);
    },
    Buffer.from([0x20, 3, 1, 0, 0]),
  );
  const readingLimits = newReadingLimits();
  const link = new BrokerLink({ id: 'taking', url: hostile.url, timeoutMs: 1_000, readingLimits });
  onTestFinished(() => link.close());
  const { takeOver } = await import('../../../src/protocol/mqtt/take-over.ts');
  const taken = takeOver(
    { address: { url: hostile.url }, version: 5, clientId: 'thing', timeoutMs: 1_000, readingLimits },
    { kind: 'UNSUBSCRIBE', filter: 'a' },
  );
  await expect(taken).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  expect(readingLimits.unfinished.total).toBe(0);
});
