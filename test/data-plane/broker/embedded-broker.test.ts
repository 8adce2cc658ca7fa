import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { parser as createParser, generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { BUILD } from '../../../src/platform/build.ts';
import { parseClientDetail } from '../../../src/protocol/apis/clients/inspect-parser.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import {
  ADMINISTRATOR,
  collect,
  connect,
  control,
  listener,
  startBrokerHere,
  startTestBroker,
  useTestBroker,
} from './embedded.ts';

const shared = useTestBroker();

test('the administrator can connect; a wrong password, another user name and an anonymous client are refused', async () => {
  const { mqttPort } = await startBrokerHere();
  const url = `mqtt://127.0.0.1:${mqttPort}`;
  const options = { reconnectPeriod: 0, protocolVersion: 4 } as const;
  await connect(mqttPort);

  const wrong = { ...ADMINISTRATOR, password: 'guess' };
  await expect(mqtt.connectAsync(url, { ...options, ...wrong })).rejects.toMatchObject({ code: 5 });
  await expect(mqtt.connectAsync(url, { ...options, ...ADMINISTRATOR, username: 'root' })).rejects.toMatchObject({
    code: 5,
  });
  await expect(mqtt.connectAsync(url, options)).rejects.toMatchObject({
    code: 5,
  });
});

test('a new administrator password applies from the next start', async () => {
  const folder = temporaryFolder();
  const first = await startBrokerHere({ folder });
  await first.close();
  const administrator = { username: 'admin', password: 'changed' };
  const { mqttPort } = await startBrokerHere({ folder, administrator });
  await connect(mqttPort, administrator);
  const url = `mqtt://127.0.0.1:${mqttPort}`;
  const refused = mqtt.connectAsync(url, {
    ...ADMINISTRATOR,
    reconnectPeriod: 0,
    protocolVersion: 4,
  });
  await expect(refused).rejects.toMatchObject({ code: 5 });
});

// MQTT.js sends a CONNECT in several frames, each of which is one chunk of the stream.
test.each([3, 4, 5] as const)('MQTT.js connects over WebSocket with protocol version %i', async (protocolVersion) => {
  const protocolId = protocolVersion === 3 ? 'MQIsdp' : 'MQTT';
  const client = await connect(shared().wsPort, { ws: true, protocolVersion, protocolId });
  const { until } = collect(client);
  await client.subscribeAsync(`version/${protocolVersion}`, { qos: 1 });
  await client.publishAsync(`version/${protocolVersion}`, 'x', { qos: 1 });
  expect(await until((messages) => messages.length === 1)).toMatchObject([{ text: 'x', qos: 1 }]);
});

test.each([
  { qos: 0, ws: false },
  { qos: 1, ws: false },
  { qos: 2, ws: false },
  { qos: 0, ws: true },
  { qos: 1, ws: true },
  { qos: 2, ws: true },
] as const)('messages of QoS $qos arrive once, complete and in order (WebSocket: $ws)', async ({ qos, ws }) => {
  const { mqttPort, wsPort } = shared();
  const port = ws ? wsPort : mqttPort;
  const subscriber = await connect(port, { ws });
  const publisher = await connect(port, { ws });
  const { until } = collect(subscriber);
  await subscriber.subscribeAsync('numbers/+', { qos });
  const sent = Array.from({ length: 500 }, (_, index) => String(index));
  await Promise.all(sent.map((text) => publisher.publishAsync('numbers/x', text, { qos })));

  const seen = await until((messages) => messages.length === sent.length);
  expect(seen.map(({ text }) => text)).toEqual(sent);
  expect(new Set(seen.map((message) => message.qos))).toEqual(new Set([qos]));
});

test('a persistent session gets its messages in order while its client is offline, reconnects, and is connected', async () => {
  const { mqttPort } = await startBrokerHere();
  const session = { clientId: 'device', clean: false };
  const first = await connect(mqttPort, session);
  await first.subscribeAsync(['a/#', 'a/+'], { qos: 2 });
  await first.endAsync();

  const publisher = await connect(mqttPort);
  const sent = Array.from({ length: 1_000 }, (_, index) => String(index));
  const publish = (text: string) => publisher.publishAsync('a/b', text, { qos: 1 });
  await Promise.all(sent.slice(0, 400).map(publish));
  const later = Promise.all(sent.slice(400).map(publish));
  const second = mqtt.connect(`mqtt://127.0.0.1:${mqttPort}`, {
    ...ADMINISTRATOR,
    ...session,
    protocolVersion: 4,
    reconnectPeriod: 0,
  });
  onTestFinished(() => second.endAsync(true).then(() => {}));
  const { until } = collect(second);
  await later;

  const seen = await until((messages) => messages.length >= sent.length);
  expect(seen.map(({ text }) => text)).toEqual(sent);
});

test('a message is delivered at the granted QoS, also for a filter with wildcards [MQTT-3.8.4-8]', async () => {
  const { mqttPort } = await startBrokerHere();
  const publisher = await connect(mqttPort);
  await publisher.publishAsync('kept/a', 'before', { qos: 2, retain: true });
  const subscriber = await connect(mqttPort);
  const { until } = collect(subscriber);
  await subscriber.subscribeAsync('kept/#', { qos: 1 });
  await publisher.publishAsync('kept/a', 'after', { qos: 2 });
  const seen = await until((messages) => messages.length === 2);
  expect(seen.map(({ text, qos, retain }) => ({ text, qos, retain }))).toEqual([
    { text: 'before', qos: 1, retain: true },
    { text: 'after', qos: 1, retain: false },
  ]);
});

test.each([
  { clean: true, filters: { 'm/#': { qos: 0 }, 'm/+': { qos: 1 } }, qos: 1 },
  { clean: false, filters: { 'm/#': { qos: 0 }, 'm/+': { qos: 1 } }, qos: 1 },
  { clean: false, filters: { 'm/#': { qos: 1 }, 'm/+': { qos: 0 } }, qos: 1 },
  { clean: false, filters: { 'm/#': { qos: 1 }, 'm/+': { qos: 2 } }, qos: 2 },
  { clean: false, filters: { 'm/#': { qos: 1 }, 'm/a': { qos: 0 } }, qos: 1 },
  { clean: true, filters: { 'm/a': { qos: 0 }, 'm/#': { qos: 2 } }, qos: 2 },
  { clean: false, filters: { 'm/a': { qos: 0 }, 'm/#': { qos: 2 } }, qos: 2 },
  { clean: true, filters: { 'm/#': { qos: 2 }, 'm/a': { qos: 1 } }, qos: 2 },
  { clean: false, filters: { 'm/#': { qos: 2 }, 'm/a': { qos: 1 } }, qos: 2 },
] as const)(
  'a client with overlapping filters gets a message once, at the highest QoS, and nothing stays queued [MQTT-3.3.4-2]: %j',
  async ({ clean, filters, qos }) => {
    const { mqttPort } = shared();
    const clientId = `device ${JSON.stringify({ clean, filters })}`;
    const device = await connect(mqttPort, { clientId, clean });
    const publisher = await connect(mqttPort);
    const { until } = collect(device);
    await device.subscribeAsync(filters);
    for (const text of ['one', 'two']) await publisher.publishAsync('m/a', text, { qos: 2 });
    const seen = await until((messages) => messages.length === 2);
    expect(seen.map((message) => [message.text, message.qos])).toEqual([
      ['one', qos],
      ['two', qos],
    ]);
    const request = { commands: [{ command: 'getClient', clientid: clientId }] };
    let queued = 0;
    // PUBCOMP is on its way when the message is seen.
    do {
      const [response] = await control(publisher, 'cedalo/inspect', request);
      const detail = parseClientDetail(response?.data);
      queued = detail?.queues?.messagesOut ?? 0;
      expect(detail?.numSubscribed).toBe(2);
    } while (queued > 0);
  },
);

test('a retained QoS 0 message does not suppress the next message', async () => {
  const { mqttPort } = await startBrokerHere();
  const subscriber = await connect(mqttPort);
  const publisher = await connect(mqttPort);
  const { until } = collect(subscriber);
  await subscriber.subscribeAsync('t/#');
  for (let index = 0; index < 100; index += 1) {
    publisher.publish('t/a', `r${index}`, { retain: true });
    publisher.publish('t/b', `n${index}`);
  }
  const seen = await until((messages) => messages.length === 200);
  expect(seen.filter(({ topic }) => topic === 't/a').map(({ text }) => text)).toEqual(
    Array.from({ length: 100 }, (_, index) => `r${index}`),
  );
});

test.each([true, false])(
  'a client that subscribes while a retained message is stored gets it once (clean session: %s)',
  async (clean) => {
    const { mqttPort } = await startBrokerHere();
    const subscriber = await connect(mqttPort, { clean, clientId: 'subscriber' });
    const publisher = await connect(mqttPort);
    const { until } = collect(subscriber);
    const topics = Array.from({ length: 60 }, (_, index) => `t/${index}`);
    for (const [index, topic] of topics.entries()) {
      const qos = index % 3 === 0 ? 0 : 1;
      // The packets arrive together, so the broker may read either first.
      await Promise.all([
        publisher.publishAsync(topic, 'kept', { qos, retain: true }),
        subscriber.subscribeAsync([topic, `${topic}/+`], { qos: 1 }),
      ]);
    }
    await subscriber.subscribeAsync('end', { qos: 1 });
    await publisher.publishAsync('end', '', { qos: 1 });
    const seen = await until(
      (messages) =>
        topics.every((topic) => messages.some((message) => message.topic === topic)) &&
        messages.at(-1)?.topic === 'end',
    );
    expect(seen.map(({ topic }) => topic).sort()).toEqual([...topics, 'end'].sort());
  },
);

test('the queue of an offline client has at most 1,000 messages; further messages are dropped and counted', async () => {
  const { mqttPort } = await startBrokerHere();
  const device = await connect(mqttPort, { clientId: 'device', clean: false });
  await device.subscribeAsync('q', { qos: 1 });
  await device.endAsync();
  const publisher = await connect(mqttPort);
  for (let index = 0; index < 1_100; index += 1) void publisher.publishAsync('q', String(index), { qos: 1 });
  await publisher.publishAsync('q', 'last', { qos: 1 });

  const [detail] = await control(publisher, 'cedalo/inspect', {
    commands: [{ command: 'getClient', clientid: 'device' }],
  });
  expect(detail?.data).toMatchObject({
    connected: false,
    numDropped: 101,
    queues: { messagesOut: 1_000, messagesMax: 1_000 },
  });

  const url = `mqtt://127.0.0.1:${mqttPort}`;
  const back = mqtt.connect(url, {
    ...ADMINISTRATOR,
    clientId: 'device',
    clean: false,
    protocolVersion: 4,
    reconnectPeriod: 0,
  });
  onTestFinished(() => back.endAsync(true).then(() => {}));
  const { until } = collect(back);
  await until((messages) => messages.length === 1_000);
  await publisher.publishAsync('q', 'live', { qos: 1 });
  const seen = await until((messages) => messages.at(-1)?.text === 'live');
  expect(seen.map(({ text }) => text)).toEqual([...Array.from({ length: 1_000 }, (_, index) => String(index)), 'live']);
});

test('a will is published when the connection breaks, and not after DISCONNECT', async () => {
  const { mqttPort } = await startBrokerHere();
  const watcher = await connect(mqttPort);
  const { until } = collect(watcher);
  await watcher.subscribeAsync('will/#', { qos: 1 });
  const will = (name: string) => ({
    topic: `will/${name}`,
    payload: Buffer.from('gone'),
    qos: 1 as const,
    retain: false,
  });
  const polite = await connect(mqttPort, { will: will('polite') });
  await polite.endAsync();
  const broken = await connect(mqttPort, { will: will('broken') });
  broken.stream.destroy();
  const seen = await until((messages) => messages.length > 0);
  expect(seen.map(({ topic }) => topic)).toEqual(['will/broken']);
});

test('a second connection with the same client id closes the first', async () => {
  const { mqttPort } = await startBrokerHere();
  const first = await connect(mqttPort, { clientId: 'same' });
  const closed = new Promise<void>((resolve) => first.once('close', () => resolve()));
  const second = await connect(mqttPort, { clientId: 'same' });
  await closed;
  expect(second.connected).toBe(true);
});

test('publishing to $SYS, and a persistent session without a client id are refused', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const { until } = collect(client);
  await client.subscribeAsync(['$SYS/broker/version', 'x']);
  await client.publishAsync('$SYS/broker/version', 'forged', {
    retain: true,
    qos: 1,
  });
  await client.publishAsync('x', 'end', { qos: 1 });
  const seen = await until((messages) => messages.at(-1)?.text === 'end');
  expect(seen.map(({ text }) => text)).not.toContain('forged');
});

test('the broker does not start on another port than its own, and reports who uses it', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  onTestFinished(() => void taken.close());
  const address = taken.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  const start = () => startTestBroker({ listeners: [listener({ port })] });
  await expect(start()).rejects.toThrow(`port ${port} is in use by `);
  await new Promise((resolve) => taken.close(resolve));
  const broker = await start();
  expect([broker.mqttPort, broker.wsPort]).toEqual([port, null]);
  await connect(broker.mqttPort);
});

test('WebSocket connections may have any path, and are refused without the subprotocol mqtt', async () => {
  const { wsPort } = await startBrokerHere();
  const statusOf = (path: string, protocols: string[]) =>
    new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${wsPort}${path}`, protocols);
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
      socket.on('error', () => {});
      socket.on('open', () => {
        socket.terminate();
        resolve('open');
      });
    });
  expect(await statusOf('/mqtt', ['mqtt'])).toBe('open');
  expect(await statusOf('/', ['mqttv3.1'])).toBe('open');
  expect(await statusOf('/services/mqtt/', ['mqtt'])).toBe('open');
  expect(await statusOf('/mqtt', [])).toBe(400);
});

test('packets that arrive together over WebSocket are answered together', async () => {
  const { wsPort } = await startBrokerHere();
  const socket = new WebSocket(`ws://127.0.0.1:${wsPort}/mqtt`, ['mqtt']);
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const { username, password } = ADMINISTRATOR;
  socket.send(generate({ cmd: 'connect', clientId: 'pings', username, password: Buffer.from(password) }));
  await once(socket, 'message');
  const pings = 20_000;
  let [bytes, messages] = [0, 0];
  const answered = new Promise<void>((resolve) => {
    socket.on('message', (message: Buffer) => {
      bytes += message.length;
      messages += 1;
      if (bytes === 2 * pings) resolve();
    });
  });

  socket.send(Buffer.alloc(2 * pings, 'c000', 'hex'));
  await answered;

  expect(messages).toBeLessThan(pings / 10);
});

test("the broker's folder is its owner's, and holds no password", async () => {
  const folder = temporaryFolder();
  const broker = await startBrokerHere({ folder: join(folder, 'broker') });
  await connect(broker.mqttPort);
  await broker.close();
  expect(statSync(join(folder, 'broker')).mode & 0o777).toBe(0o700);
  const entries = readdirSync(join(folder, 'broker'), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(readFileSync(file).includes(ADMINISTRATOR.password), file).toBe(false);
});

test('a folder in use is refused', async () => {
  const folder = temporaryFolder();
  await startBrokerHere({ folder });
  await expect(startTestBroker({ folder })).rejects.toThrow(/did not start/);
});

test('a packet beyond the limit closes its connection before it is read, and no other connection', async () => {
  const { mqttPort } = await startBrokerHere();
  const quiet = await connect(mqttPort);
  const loud = await connect(mqttPort);
  const closed = new Promise<void>((resolve) => loud.once('close', () => resolve()));
  loud.publish('big', Buffer.alloc(11 * 1_048_576));
  await closed;
  await quiet.publishAsync('still', 'here', { qos: 1 });
});

test('a client may send large messages while its queue is still being sent', async () => {
  const { mqttPort } = await startBrokerHere();
  const device = await connect(mqttPort, { clientId: 'device', clean: false });
  await device.subscribeAsync('queued', { qos: 1 });
  await device.endAsync();
  const other = await connect(mqttPort);
  for (let n = 0; n < 25; n++) await other.publishAsync('queued', Buffer.alloc(1_000_000), { qos: 1 });

  const socket = createConnection(mqttPort, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const { username, password } = ADMINISTRATOR;
  const about = { protocolVersion: 4, clientId: 'device', clean: false, keepalive: 0, username } as const;
  socket.write(generate({ cmd: 'connect', ...about, password: Buffer.from(password) }));
  const parser = createParser();
  const acknowledged = new Promise<string>((resolve) => {
    parser.on('packet', ({ cmd, messageId }) => {
      if (cmd === 'puback' && messageId === 7) resolve('acknowledged');
    });
    socket.once('close', () => resolve('closed'));
  });
  const [first] = await once(socket, 'data');
  socket.pause();
  parser.parse(first);
  const flags = { qos: 1, dup: false, retain: false } as const;
  socket.write(generate({ cmd: 'publish', topic: 'large', payload: Buffer.alloc(500_000), messageId: 7, ...flags }));
  // The broker has read the message by then, and cannot have sent the queue.
  for (let n = 0; n < 50; n++) await other.publishAsync('other', 'x', { qos: 1 });
  socket.on('data', (chunk) => parser.parse(chunk));
  socket.resume();
  expect(await acknowledged).toBe('acknowledged');
});

test('close() with connected clients resolves, may be called twice, and sessions survive it', async () => {
  const folder = temporaryFolder();
  const states: string[] = [];
  const broker = await startTestBroker({
    folder,
    onState: (state) => states.push(state),
  });
  const device = await connect(broker.mqttPort, {
    clientId: 'device',
    clean: false,
  });
  await device.subscribeAsync('a', { qos: 1 });
  for (let index = 0; index < 50; index += 1) await connect(broker.mqttPort);
  await Promise.all([broker.close(), broker.close()]);
  expect(states).toEqual(['STARTING', 'RUNNING', 'STOPPED']);

  const again = await startBrokerHere({ folder });
  const publisher = await connect(again.mqttPort);
  await publisher.publishAsync('a', 'kept', { qos: 1 });
  const url = `mqtt://127.0.0.1:${again.mqttPort}`;
  const back = mqtt.connect(url, {
    ...ADMINISTRATOR,
    clientId: 'device',
    clean: false,
    protocolVersion: 4,
    reconnectPeriod: 0,
  });
  onTestFinished(() => back.endAsync(true).then(() => {}));
  const seen = await collect(back).until((messages) => messages.length === 1);
  expect(seen[0]?.text).toBe('kept');
});

test('$SYS has the version and counters with the names of Mosquitto as retained messages', async () => {
  const { mqttPort } = await startBrokerHere({
    sysIntervalMs: 50,
  });
  const client = await connect(mqttPort);
  const { messages, until } = collect(client);
  await client.subscribeAsync('$SYS/#');
  for (let index = 0; index < 7; index += 1) await client.publishAsync('some/topic', 'four', { qos: 1 });
  const expected = {
    '$SYS/broker/version': `brokergraph embedded ${BUILD.version}`,
    '$SYS/broker/clients/connected': '1',
    '$SYS/broker/publish/messages/received': '7',
    '$SYS/broker/publish/bytes/received': '28',
  };
  const latest = (seen: typeof messages) => new Map(seen.map(({ topic, text }) => [topic, text]));
  await until((seen) => Object.entries(expected).every(([topic, text]) => latest(seen).get(topic) === text));
  expect([...latest(messages).keys()].every((topic) => topic.startsWith('$SYS/broker/'))).toBe(true);
});

test('a subscriber that stops reading slows down its own publishers only', async () => {
  const { mqttPort } = await startBrokerHere();
  const frozen = await connect(mqttPort);
  await frozen.subscribeAsync('flood');
  frozen.stream.pause();
  const flooding = await connect(mqttPort);
  const payload = Buffer.alloc(65_536);
  for (let index = 0; index < 500; index += 1) flooding.publish('flood', payload);

  const subscriber = await connect(mqttPort);
  const { until } = collect(subscriber);
  await subscriber.subscribeAsync('quick', { qos: 1 });
  const publisher = await connect(mqttPort);
  for (let index = 0; index < 100; index += 1) await publisher.publishAsync('quick', String(index), { qos: 1 });
  await until((messages) => messages.length === 100);
  expect(await control(publisher, 'broker', { commands: [{ command: 'listListeners' }] })).toHaveLength(1);
});
