import type { IPublishPacket, Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { connect, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { fill, memory, removeRetained } from './retained.ts';
import { acknowledgeAll, numbers, publish, subscribe as subscribeWith } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

const broker = useTestBroker();
const PERSISTENT = { protocolVersion: 4, clean: false } as const;

async function retain(folder: string, count: number): Promise<void> {
  const publisher = await connect(broker().mqttPort);
  const topics = Array.from({ length: count }, (_, i) => `${folder}/${i}/value`);
  // In this order: the last one is acknowledged when all are retained.
  for (const topic of topics.slice(1)) publisher.publish(topic, 'x', { retain: true });
  await publisher.publishAsync(topics[0] as string, 'x', { qos: 1, retain: true });
}

const allTopics = (count: number) => Array.from({ length: count }, (_, i) => `all/${i}`);

const subscribe = (messageId: number, qos: 0 | 1 | 2, ...topics: readonly string[]) =>
  ({ cmd: 'subscribe', messageId, subscriptions: topics.map((topic) => ({ topic, qos })) }) as const;

const messagesOf = (packets: readonly Packet[]): IPublishPacket[] =>
  packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : []));

const topicsOf = (packets: readonly { readonly cmd: string }[]): string[] =>
  packets.flatMap((packet) => (packet.cmd === 'publish' ? [(packet as IPublishPacket).topic] : []));

test('a persistent session gets retained messages although its client disconnects after SUBACK [MQTT-4.1.0-1]', async () => {
  const publisher = await connect(broker().mqttPort);
  const topics = Array.from({ length: 300 }, (_, i) => `left/${i}`);
  await Promise.all(topics.map((topic) => publisher.publishAsync(topic, 'x', { qos: 1, retain: true })));
  const client = await rawClient(broker().mqttPort, { ...PERSISTENT, clientId: 'leaves' });
  client.send(subscribe(1, 1, 'left/#'));
  await client.until('suback', 1);
  client.send({ cmd: 'disconnect' });
  await client.closed;

  const back = await rawClient(broker().mqttPort, { ...PERSISTENT, clientId: 'leaves' });
  // What it received before it left, it did not acknowledge.
  await back.until('publish', topics.length);
  await back.settle();
  expect(topicsOf(back.packets).sort()).toEqual(topics.sort());
});

test.for([1, 2] as const)('a retained message of QoS %i is sent again until it is acknowledged', async (qos) => {
  const publisher = await connect(broker().mqttPort);
  await publisher.publishAsync(`again/${qos}`, 'x', { qos, retain: true });
  const about = { ...PERSISTENT, clientId: `again-${qos}` };
  const first = await rawClient(broker().mqttPort, about);
  first.send(subscribe(1, qos, `again/${qos}`));
  await first.until('publish', 1);
  const [sent] = first.packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[];
  await first.leave();

  const second = await rawClient(broker().mqttPort, about);
  await second.until('publish', 1);
  const { messageId = 0 } = sent ?? {};
  const expected = { topic: `again/${qos}`, messageId, qos, dup: true, retain: true };
  expect(second.packets.filter(({ cmd }) => cmd === 'publish')).toMatchObject([expected]);
  if (qos === 1) second.send({ cmd: 'puback', messageId });
  else {
    second.send({ cmd: 'pubrec', messageId });
    await second.until('pubrel', 1);
    second.send({ cmd: 'pubcomp', messageId });
  }
  await second.settle();
  await second.leave();

  const third = await rawClient(broker().mqttPort, about);
  await third.settle();
  expect(topicsOf(third.packets)).toEqual([]);
});

test('a SUBSCRIBE that matches many retained messages delays no other client', async () => {
  const { port, store } = await startTappedCore();
  fill(
    store,
    Array.from({ length: 10_000 }, (_, i) => `many/${i}/value`),
  );
  const other = await rawClient(port, { clientId: 'other' });
  const client = await rawClient(port, { protocolVersion: 4, clientId: 'compares' });
  const filters = Array.from({ length: 499 }, (_, i) => `many/+/other-${i}`);
  client.send(subscribe(1, 0, ...filters, 'many/1/+'));
  await client.until('suback', 1);
  for (let times = 0; times < 5; times += 1) await other.settle();
  expect(topicsOf(client.packets)).toEqual([]);
  await client.until('publish', 1);
  expect(topicsOf(client.packets)).toEqual(['many/1/value']);
});

test('each of many SUBSCRIBEs in one segment gets its retained messages', async () => {
  await retain('row', 200);
  const client = await rawClient(broker().mqttPort, { protocolVersion: 4, clientId: 'row' });
  client.write(Buffer.concat(Array.from({ length: 40 }, (_, i) => client.packet(subscribe(i + 1, 0, 'row/#')))));
  await client.until('publish', 40 * 200);
  await client.settle();
  expect(client.count('suback')).toBe(40);
  expect(client.count('publish')).toBe(40 * 200);
});

test('beyond a limit a PUBLISH of MQTT 5 is refused with 0x97; others are delivered, not retained, and all are counted', async () => {
  const { port, store } = await startTappedCore(temporaryFolder(), { retainedMessages: 1 });
  const watcher = await rawClient(port, { clientId: 'watcher' }, '#');
  const five = await rawClient(port, { clientId: 'five' });
  const publish = { cmd: 'publish', retain: true, dup: false, payload: 'x' } as const;
  five.send({ ...publish, topic: 'first', qos: 1, messageId: 1 });
  five.send({ ...publish, topic: 'second', qos: 1, messageId: 2 });
  five.send({ ...publish, topic: 'second', qos: 2, messageId: 3 });
  five.send({ ...publish, topic: 'first', qos: 1, messageId: 4, payload: 'again' });
  five.send({ ...publish, topic: 'zero', qos: 0 });
  await five.until('puback', 3);
  await five.until('pubrec', 1);
  await five.settle();
  const acknowledgements = five.packets.flatMap((packet) =>
    packet.cmd === 'puback' || packet.cmd === 'pubrec' ? [[packet.messageId, packet.reasonCode ?? 0]] : [],
  );
  expect(acknowledgements).toEqual([1, 2, 3, 4].map((id) => [id, id === 2 || id === 3 ? 0x97 : 0]));

  const four = await rawClient(port, { protocolVersion: 4, clientId: 'four' });
  four.send({ ...publish, topic: 'third', qos: 1, messageId: 1 });
  await four.until('puback', 1);
  await watcher.until('publish', 4);
  await watcher.settle();
  expect(topicsOf(watcher.packets).sort()).toEqual(['first', 'first', 'third', 'zero']);
  const late = await rawClient(port, { clientId: 'late' }, '#');
  await late.until('publish', 1);
  await late.settle();
  expect(late.packets.filter(({ cmd }) => cmd === 'publish')).toMatchObject([{ topic: 'first', retain: true }]);
  expect(store.retained.refused).toBe(4);
  await expect.poll(() => store.incoming.count('five')).toBe(0);
});

test('a client that retains each received message gets only the messages that were retained when it subscribed', async () => {
  await retain('echo', 500);
  const client = await connect(broker().mqttPort);
  const received: string[] = [];
  const all = new Promise<void>((resolve) => {
    client.on('message', (topic, payload, { retain: isRetained }) => {
      if (!isRetained) return;
      client.publish(topic, 'again', { retain: true });
      if (received.push(`${topic} ${payload}`) === 500) resolve();
    });
  });
  await client.subscribeAsync('echo/+/value');
  await all;
  await client.publishAsync('end', '', { qos: 1 });
  expect(received.sort()).toEqual(Array.from({ length: 500 }, (_, i) => `echo/${i}/value x`).sort());
});

test('live messages of a new subscription come after its retained messages, each topic once', async () => {
  const { port, store } = await startTappedCore();
  const topics = allTopics(1_500);
  fill(store, topics);
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const client = await rawClient(port, { clientId: 'client', protocolVersion: 4 });
  client.send(subscribe(1, 0, 'all/#'));
  for (const topic of ['all/1', 'all/1499', 'all/new'])
    publisher.send({ cmd: 'publish', topic, payload: 'live', qos: 0, retain: true, dup: false });
  await client.until('suback', 1);
  client.each((packet) => {
    if (packet.cmd === 'publish' && packet.retain) client.send({ ...packet, payload: 'again' });
  });
  publisher.send({
    cmd: 'publish',
    topic: 'all/last',
    payload: 'live',
    qos: 1,
    messageId: 1,
    retain: true,
    dup: false,
  });
  const countOf = (isRetained: boolean) =>
    messagesOf(client.packets).filter(({ retain }) => retain === isRetained).length;
  await client.until('publish', 1_500);
  await expect.poll(() => countOf(false) - countOf(true)).toBe(4);
  const messages = messagesOf(client.packets);
  const retained = messages.filter(({ retain }) => retain).map(({ topic }) => topic);
  expect(new Set(retained).size).toBe(retained.length);
  expect(messages.findLastIndex(({ retain }) => retain)).toBe(retained.length - 1);
  const all = new Set(messages.map(({ topic }) => topic));
  expect([...topics, 'all/new', 'all/last'].filter((topic) => !all.has(topic))).toEqual([]);
});

test('mosquitto_sub --remove-retained --retained-only removes all retained messages', async () => {
  const { port, store } = await startTappedCore();
  fill(store, allTopics(2_000));
  removeRetained(port);
  await expect.poll(() => store.retained.count).toBe(0);
});

test('a subscriber that does not read costs bounded memory, whatever is retained', async () => {
  const { port, store, registry } = await startTappedCore();
  const payload = Buffer.alloc(64 * 1_024, 'x');
  fill(store, allTopics(500), payload);
  const before = await memory();
  const slow = await rawClient(port, { clientId: 'slow', protocolVersion: 4 });
  slow.pause();
  slow.send(subscribe(1, 0, 'all/#'));
  const other = await rawClient(port, { clientId: 'other' });
  const live = { cmd: 'publish', qos: 0, retain: true, dup: false, payload } as const;
  for (let i = 0; i < 200; i += 1) {
    other.send({ ...live, topic: `all/${i}` });
    await other.settle();
  }
  const connection = registry.connection('slow');
  expect(await memory(before + 12 * 1_048_576)).toBeLessThan(before + 12 * 1_048_576);
  expect(connection?.counters.dropped).toBeGreaterThan(100);
  slow.resume();
  await slow.until('publish', 300);
});

test('a session gets retained messages of QoS 1 as fast as it acknowledges them', async () => {
  const { port, store } = await startTappedCore();
  const topics = allTopics(3_000);
  fill(store, topics);
  const client = await rawClient(port, { ...PERSISTENT, clientId: 'session' });
  client.send(subscribe(1, 1, 'all/#'));
  await client.until('publish', 1_000);
  await client.settle();
  expect(store.sessions.get('session')?.queue.size).toBeLessThan(2_000);
  client.each((packet) => {
    if (packet.cmd === 'publish') client.send({ cmd: 'puback', messageId: packet.messageId ?? 0 });
  });
  await client.until('publish', topics.length);
  expect(topicsOf(client.packets).sort()).toEqual(topics.sort());
  await expect.poll(() => store.sessions.get('session')?.queue.size).toBe(0);
});

test('live messages that wait in the queue of a session do not stop its retained messages', async () => {
  const { port, store } = await startTappedCore();
  fill(store, allTopics(3_000));
  const client = await rawClient(port, { ...PERSISTENT, clientId: 'session' });
  client.send(subscribe(1, 1, 'all/#'));
  await client.until('publish', 1_000);
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'all/live', numbers(1_500));
  acknowledgeAll(client);
  await client.until('publish', 4_500);
  const isRetained = messagesOf(client.packets).map(({ retain }) => retain);
  expect(isRetained.slice(0, 3_000)).not.toContain(false);
  expect(isRetained.slice(3_000)).not.toContain(true);
});

test.for(['Clean Start', 'an expired session'])(
  'no retained message is queued for a session that has ended [MQTT-3.1.2-4] (%s)',
  async (end) => {
    const { port, store } = await startTappedCore();
    fill(store, allTopics(900), 'x'.repeat(2_000));
    const client = await rawClient(port, { ...PERSISTENT, clientId: 'session' });
    client.send(subscribe(1, 1, 'all/#'));
    await client.until('publish', 10);
    const other = await rawClient(port, { clientId: 'other' });
    if (end === 'Clean Start') await rawClient(port, { clientId: 'session' });
    else {
      await client.leave();
      store.endSession('session');
    }
    // Each exchange takes at least one iteration of the event loop, as does each slice.
    for (let times = 0; times < 50; times += 1) await other.settle();
    await store.commit();
    expect(store.queues.count).toBe(0);
    expect(store.queues.bytes).toBe(0);
    expect(store.journal.rows('SELECT * FROM queue')).toEqual([]);
  },
);

test.for([0, 1] as const)(
  'a retained message has the identifier of the subscription that caused it [MQTT-3.3.4-3] (session, QoS %i)',
  async (qos) => {
    const { port, store } = await startTappedCore();
    fill(store, ['a/b']);
    const session = { clean: false, properties: { sessionExpiryInterval: 100 } };
    const client = await rawClient(port, { clientId: 'client', ...session });
    await subscribeWith(client, 'a/#', { qos, identifier: 1 });
    await client.until('publish', 1);
    await subscribeWith(client, 'a/b', { qos, identifier: 2 });
    await client.until('publish', 2);
    expect(messagesOf(client.packets).map(({ properties }) => properties?.subscriptionIdentifier)).toEqual([1, 2]);
  },
);

test('queued messages of a session with thousands of identifiers do not delay other clients', async () => {
  const { port } = await startTappedCore();
  const session = { clientId: 'client', clean: false, properties: { sessionExpiryInterval: 100 } };
  const client = await rawClient(port, session);
  const filters = Array.from({ length: 9_000 }, (_, i) => `other/+/${i}`);
  for (let from = 0; from < filters.length; from += 1_000)
    await subscribeWith(client, filters.slice(from, from + 1_000), { qos: 1, identifier: 1 });
  await subscribeWith(client, 'live', { qos: 1, identifier: 2 });
  await client.leave();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  await publish(publisher, 'live', numbers(900));
  const { user } = process.cpuUsage();
  const back = await rawClient(port, session);
  await back.until('publish', 900);
  const identifiers = messagesOf(back.packets).map(({ properties }) => properties?.subscriptionIdentifier);
  expect(new Set(identifiers)).toEqual(new Set([2]));
  // Comparing all filters for each message takes 2 s.
  expect(process.cpuUsage().user - user).toBeLessThan(700_000);
});
