import { createConnection } from 'node:net';
import { generate, type IPublishPacket, type ISubscribePacket, type Packet } from 'mqtt-packet';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ADMINISTRATOR, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const broker = useTestBroker();

const LEVELS = 16;
const FILTERS = 2_000;
const topic = Array(LEVELS).fill('a').join('/');
const CHEAP = 500;
const EXPENSIVE = 200;
/** Half of them match a topic with another last level. */
const filter = (i: number) =>
  Array.from({ length: LEVELS }, (_, level) => ((i >> (level % 12)) & 1 ? '+' : 'a')).join('/');
const publish = (fields: Partial<IPublishPacket> = {}): IPublishPacket => ({
  cmd: 'publish',
  topic,
  payload: 'x',
  qos: 0,
  retain: false,
  dup: false,
  ...fields,
});
const will = { topic: 'will', payload: Buffer.from('gone'), qos: 0, retain: false } as const;

/** Clients whose filters make each message to `topic` expensive, and one that gets all messages. */
async function startWatching() {
  const port = broker().mqttPort;
  const holder = await rawClient(port, { clientId: 'holder' });
  const subscriptions: ISubscribePacket['subscriptions'] = Array.from({ length: FILTERS }, (_, i) => ({
    topic: filter(i),
    qos: 0,
    nl: false,
    rap: false,
    rh: 2,
  }));
  const half = FILTERS / 2;
  holder.send({ cmd: 'subscribe', messageId: 1, subscriptions: subscriptions.slice(0, half) });
  holder.send({ cmd: 'subscribe', messageId: 2, subscriptions: subscriptions.slice(half) });
  await holder.until('suback', 2);
  const watcher = await rawClient(port, { clientId: 'watcher' }, '#');
  const topics = () => watcher.packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet.topic] : []));
  return { port, watcher, topics };
}

const bytesOf = (...packets: Packet[]) =>
  Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: 5 })));
/** Topics of their own, because the recipients of a topic are remembered. */
const expensive = (qos: 0 | 1 | 2): Packet[] =>
  Array.from({ length: EXPENSIVE }, (_, i) => publish({ messageId: i + 1, qos, topic: `${topic}${i}` }));
const packets = (count: number, fields: Partial<IPublishPacket>): Packet[] =>
  Array.from({ length: count }, (_, i) => publish({ messageId: i + 1, ...fields }));
const cheap = packets(CHEAP, { topic: 'cheap', payload: Buffer.alloc(1_000) });

describe('a client whose messages match thousands of filters delays another client by a few messages', () => {
  test.each([
    ['from the beginning', 0, []],
    ['behind cheap messages', 0, cheap],
    ['that a session keeps', 1, cheap],
  ] as const)('%s', async (_, qos, before) => {
    const { port, watcher, topics } = await startWatching();
    const session = await rawClient(port, { clientId: 'session', properties: { sessionExpiryInterval: 60 } });
    session.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 1, nl: false, rap: false, rh: 2 }] });
    await session.until('suback', 1);
    const hostile = await rawClient(port, { clientId: 'hostile' });
    const healthy = await rawClient(port, { clientId: 'healthy' });
    hostile.write(bytesOf(...before, ...expensive(qos)));
    await watcher.until('publish', before.length + 1);
    healthy.send(publish({ topic: 'healthy' }));
    await watcher.until('publish', before.length + EXPENSIVE + 1);
    expect(topics().indexOf('healthy')).toBeLessThan(before.length + EXPENSIVE - 50);
  });

  test('together with CONNECT', async () => {
    const { port, watcher, topics } = await startWatching();
    const healthy = await rawClient(port, { clientId: 'healthy' });
    const { username, password } = ADMINISTRATOR;
    const connect = { cmd: 'connect', clientId: 'hostile', clean: true, keepalive: 0, username } as const;
    const socket = createConnection(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(bytesOf({ ...connect, password: Buffer.from(password) }, ...cheap, ...expensive(0)));
    await watcher.until('publish', CHEAP + 1);
    healthy.send(publish({ topic: 'healthy' }));
    await watcher.until('publish', CHEAP + EXPENSIVE + 1);
    expect(topics().indexOf('healthy')).toBeLessThan(CHEAP + EXPENSIVE - 50);
  });
});

test('packets that a client has sent before it disconnects are handled, however long it takes', async () => {
  const { port, watcher, topics } = await startWatching();
  const sender = await rawClient(port, { clientId: 'sender', will });
  const packets = Array.from({ length: 100 }, (_, i) => publish({ topic: i % 2 === 0 ? topic : `small/${i}` }));
  sender.write(bytesOf(...packets, { cmd: 'disconnect' }));
  await sender.leave();
  await watcher.until('publish', 100);
  await watcher.settle();
  expect(topics()).toEqual(packets.map((packet) => packet.topic));
});

test('large messages in several segments and small messages behind them arrive complete and in order', async () => {
  const port = broker().mqttPort;
  const watcher = await rawClient(port, { clientId: 'watcher' }, '#');
  const sender = await rawClient(port, { clientId: 'sender' });
  const sizes = [300_000, ...Array(500).fill(10), 1_000_000, ...Array(500).fill(0), 70_000];
  const packets = sizes.map((size, i) => publish({ topic: `size/${i}`, payload: Buffer.alloc(size, i % 256) }));
  sender.write(bytesOf(...packets));
  await watcher.until('publish', sizes.length);
  const seen = watcher.packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : []));
  expect(seen.map((packet) => packet.topic)).toEqual(packets.map((packet) => packet.topic));
  expect(seen.every(({ payload }, i) => Buffer.from(payload).equals(packets[i]?.payload as Buffer))).toBe(true);
});
