import type { IPublishPacket } from 'mqtt-packet';
import { expect, test } from 'vitest';
import type { StreamMessage } from '../../../src/data-plane/streams/model/stream-session.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { collect, connect } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { startTappedCore } from './tapped-core.ts';

const publish = (topic: string, text: string, qos: 0 | 1 | 2, messageId?: number): IPublishPacket => ({
  cmd: 'publish',
  topic,
  payload: text,
  qos,
  retain: false,
  dup: false,
  ...(messageId === undefined ? {} : { messageId }),
});

/** The messages that the session gets below `filter`. The test holds each message until it releases it. */
async function holdAll(
  session: { subscribe: Awaited<ReturnType<typeof startTappedCore>>['session']['subscribe'] },
  filter: string,
) {
  const told: { readonly text: string; readonly qos: number; readonly release: () => void }[] = [];
  let check = () => {};
  const stop = await session.subscribe(filter, (message: StreamMessage) => {
    told.push({ text: message.payload.toString(), qos: message.qos, release: message.hold() });
    check();
  });
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      check = () => {
        if (told.length >= count) resolve();
      };
      check();
    });
  const texts = () => told.map(({ text }) => text);
  return { told, texts, until, stop };
}

test('an acknowledgement waits while a stream holds the message, and later acknowledgements wait behind it [MQTT-4.6.0-2]', async () => {
  const { session, port } = await startTappedCore();
  const { told, until } = await holdAll(session, 'held/#');
  const client = await rawClient(port, {});
  client.send(publish('held/1', 'a', 1, 1));
  client.send(publish('free', 'b', 1, 2));
  client.send(publish('held/2', 'c', 2, 3));
  client.send(publish('free', 'd', 2, 4));
  await until(2);
  const other = await connect(port);
  const answers = () => client.packets.filter(({ cmd }) => cmd.startsWith('pub'));
  await other.publishAsync('free', 'x', { qos: 2 });
  expect(answers()).toEqual([]);
  told[1]?.release();
  await other.publishAsync('free', 'x', { qos: 2 });
  expect(answers()).toEqual([]);
  told[0]?.release();
  // A second time is nothing.
  told[0]?.release();
  await client.until('pubrec', 2);
  expect(answers().map(({ cmd, messageId }) => [cmd, messageId])).toEqual([
    ['puback', 1],
    ['puback', 2],
    ['pubrec', 3],
    ['pubrec', 4],
  ]);
});

test('subscribers of the broker get a held message in order, before streams process it', async () => {
  const { session, port } = await startTappedCore();
  const reader = await connect(port);
  const { until } = collect(reader);
  await reader.subscribeAsync('#', { qos: 2 });
  const releases: (() => void)[] = [];
  await session.subscribe('in/#', (message) => {
    releases.push(message.hold());
    session.publish('out', message.payload, message.qos, () => {});
  });
  const client = await connect(port);
  for (const qos of [0, 1, 2] as const) client.publish('in/x', String(qos), { qos });
  const seen = await until((messages) => messages.length === 6);
  expect(seen.map(({ topic, text, qos }) => `${topic} ${text} ${qos}`)).toEqual([
    'in/x 0 0',
    'out 0 0',
    'in/x 1 1',
    'out 1 1',
    'in/x 2 2',
    'out 2 2',
  ]);
  for (const release of releases) release();
});

test('retained messages, wills and messages of the broker reach streams; topics below $ and refused publishes do not', async () => {
  const { session, core, port } = await startTappedCore();
  const client = await connect(port);
  await client.publishAsync('state', 'before', { qos: 1, retain: true });
  const { told, until } = await holdAll(session, '#');
  for (const qos of [0, 1, 2] as const) client.publish('state', `retained ${qos}`, { qos, retain: true });
  client.publish('$own', 'x', { qos: 1 });
  client.publish('$SYS/own', 'x', { qos: 1 });
  client.publish('$CONTROL/own/v1', '{}', { qos: 1 });
  client.publish('forbidden/x', 'x', { qos: 1 });
  await until(3);
  for (const one of told) one.release();
  await client.publishAsync('', 'never').catch(() => {});
  const will = { topic: 'will', payload: Buffer.from('now'), qos: 1, retain: false } as const;
  const leaving = await connect(port, { will });
  leaving.stream.destroy();
  await until(4);
  const later = { ...will, payload: Buffer.from('later'), properties: { willDelayInterval: 1 } };
  const away = await connect(port, { protocolVersion: 5, properties: { sessionExpiryInterval: 60 }, will: later });
  away.stream.destroy();
  await until(5);
  void core.publisher.publish('own', 'by the broker', { qos: 1 });
  void core.publisher.publish('$SYS/x', 'by the broker');
  await until(6);
  expect(told.map(({ text, qos }) => `${text} ${qos}`)).toEqual([
    'retained 0 0',
    'retained 1 1',
    'retained 2 2',
    'now 1',
    'later 1',
    'by the broker 1',
  ]);
  await expect(session.subscribe('$SYS/#', () => {})).rejects.toMatchObject({ code: 'BROKER_REJECTED' });
});

test('a QoS 2 publish that is repeated before PUBREL is one message, and is acknowledged when it is released [MQTT-4.3.3-10]', async () => {
  const folder = temporaryFolder();
  const first = await startTappedCore(folder);
  const held = await holdAll(first.session, 'x');
  const session = { clientId: 'publisher', clean: false, protocolVersion: 4 } as const;
  const before = await rawClient(first.port, session);
  before.send(publish('x', 'once', 2, 7));
  before.send({ ...publish('x', 'once', 2, 7), dup: true });
  await held.until(1);
  await before.leave();
  const after = await rawClient(first.port, session);
  after.send({ ...publish('x', 'once', 2, 7), dup: true });
  await (await connect(first.port)).publishAsync('free', 'x', { qos: 2 });
  expect(after.count('pubrec')).toBe(0);
  held.told[0]?.release();
  await after.until('pubrec', 1);
  expect(held.texts()).toEqual(['once']);

  // The broker ends while a stream holds the message. The stream gets it again, and it is delivered once.
  const reader = await connect(first.port, { clientId: 'reader', clean: false });
  await reader.subscribeAsync('x', { qos: 2 });
  await reader.endAsync();
  after.send(publish('x', 'held', 2, 8));
  await held.until(2);
  await first.stop();
  const second = await startTappedCore(folder);
  const again = await holdAll(second.session, 'x');
  const back = await rawClient(second.port, session);
  back.send({ ...publish('x', 'held', 2, 8), dup: true });
  await again.until(1);
  await (await connect(second.port)).publishAsync('free', 'x', { qos: 2 });
  expect(back.count('pubrec')).toBe(0);
  again.told[0]?.release();
  await back.until('pubrec', 1);
  back.send({ cmd: 'pubrel', messageId: 8 });
  await back.until('pubcomp', 1);
  const known = new Promise<string[]>((resolve) => {
    const seen: string[] = [];
    void connect(second.port, { clientId: 'reader', clean: false }).then(async (client) => {
      client.on('message', (_topic, payload) => {
        seen.push(payload.toString());
        if (payload.toString() === 'end') resolve(seen);
      });
      await client.publishAsync('x', 'end', { qos: 2 });
    });
  });
  await again.until(2);
  again.told[1]?.release();
  expect((await known).filter((text) => text === 'held').length).toBeLessThanOrEqual(1);
});

test('during a pause, publishers of matching messages wait and are not read; other publishers and streams continue', async () => {
  const { session, port, registry } = await startTappedCore();
  let bytes = 0;
  let last = '';
  let check = () => {};
  await session.subscribe('fast/#', ({ payload }) => {
    bytes += payload.length;
    last = payload.toString('latin1', 0, 3);
    check();
  });
  session.pause();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const chunk = publisher.packet(publish('fast/x', 'x'.repeat(10_000), 0));
  const other = await connect(port);
  const { until } = collect(other);
  await other.subscribeAsync('#', { qos: 1 });
  const published = new Promise((resolve) => session.publish('fast/own', 'own', 1, resolve));
  expect(await published).toBe(null);
  // Each by itself, after which the broker core would always read on.
  let total = 0;
  while (bytes < 1_048_576) {
    const told = new Promise<void>((resolve) => {
      check = resolve;
    });
    publisher.write(chunk);
    total += 1;
    await told;
  }
  for (let sent = 0; sent < 100; sent += 1) {
    publisher.write(chunk);
    total += 1;
    await other.publishAsync('slow/x', String(sent), { qos: 1 });
  }
  publisher.write(publisher.packet(publish('fast/x', 'end', 0)));
  await until((seen) => seen.some(({ text }) => text === '99'));
  const whilePaused = bytes;
  expect(whilePaused).toBeLessThan(1_048_576 + 100_000);
  const waiting = await rawClient(port, { clientId: 'waiting' });
  waiting.send(publish('fast/y', 'y', 1, 1));
  waiting.send(publish('fast/y', 'y', 2, 2));
  await until((seen) => seen.filter(({ text }) => text === 'y').length === 2);
  expect(waiting.count('puback') + waiting.count('pubrec')).toBe(0);
  const done = new Promise<void>((resolve) => {
    check = () => {
      if (last === 'end') resolve();
    };
  });
  session.resume();
  await waiting.until('pubrec', 1);
  expect(waiting.count('puback')).toBe(1);
  await done;
  expect(bytes).toBe(total * 10_000 + 3 + 2 + 3);
  publisher.send(publish('free', 'x', 1, 1));
  await publisher.until('puback', 1);
  expect(registry.connection('publisher')?.flow.delayedAcks?.isEmpty).toBe(true);
});

test('close does not wait for held messages and does not acknowledge them; a disconnected publisher does no harm', async () => {
  const { session, core, port, problems, stop } = await startTappedCore();
  const { told, until } = await holdAll(session, '#');
  const left = await rawClient(port, { clientId: 'left' });
  left.send(publish('x', 'left', 1, 1));
  await until(1);
  await left.leave();
  told[0]?.release();
  const staying = await rawClient(port, { clientId: 'staying' });
  staying.send(publish('x', 'stays', 1, 1));
  staying.send(publish('x', 'stays', 2, 2));
  await until(3);
  session.pause();
  staying.send(publish('x', 'paused', 1, 3));
  await until(4);
  await stop();
  for (const { release } of told) release();
  expect(staying.count('puback') + staying.count('pubrec')).toBe(0);
  expect(session.status.state).toBe('CLOSED');
  const refused = await new Promise((resolve) => session.publish('x', 'late', 1, resolve));
  expect(refused).toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await expect(session.subscribe('x', () => {})).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  expect(core.tap.take({ topic: 'x', payload: '', qos: 0, retain: false }, true)).toBe(null);
  expect(problems).toEqual([]);
});

test('thousands of streams may form a chain, in order; invalid topics are refused', async () => {
  const { session, port } = await startTappedCore();
  const length = 5_000;
  const arrived: string[] = [];
  for (let index = 0; index < length; index += 1) {
    await session.subscribe(`deep/${index}`, ({ payload, hold }) => {
      session.publish(`deep/${index + 1}`, payload, 0, hold());
    });
  }
  const stop = await session.subscribe(`deep/${length}`, ({ payload }) => void arrived.push(payload.toString()));
  const client = await connect(port);
  const texts = Array.from({ length: 5 }, (_, index) => String(index));
  await Promise.all(texts.map((text) => client.publishAsync('deep/0', text, { qos: 1 })));
  expect(arrived).toEqual(texts);
  stop();
  const refused = await new Promise((resolve) => session.publish('a/'.repeat(200), 'x', 1, resolve));
  expect(refused).toMatchObject({ code: 'BROKER_REJECTED' });
  expect(await new Promise((resolve) => session.publish('a/'.repeat(99), 'x', 1, resolve))).toBe(null);
});
