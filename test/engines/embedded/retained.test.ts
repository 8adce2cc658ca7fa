import type { IPublishPacket } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { connect, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const broker = useTestBroker();
const PERSISTENT = { protocolVersion: 4, clean: false } as const;

async function retain(folder: string, count: number): Promise<void> {
  const publisher = await connect(broker().mqttPort);
  const topics = Array.from({ length: count }, (_, i) => `${folder}/${i}/value`);
  // In this order: the last one is acknowledged when all are retained.
  for (const topic of topics.slice(1)) publisher.publish(topic, 'x', { retain: true });
  await publisher.publishAsync(topics[0] as string, 'x', { qos: 1, retain: true });
}

const subscribe = (messageId: number, qos: 0 | 1 | 2, ...topics: readonly string[]) =>
  ({ cmd: 'subscribe', messageId, subscriptions: topics.map((topic) => ({ topic, qos })) }) as const;

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
  await retain('many', 20_000);
  const other = await rawClient(broker().mqttPort, { clientId: 'other' });
  const client = await rawClient(broker().mqttPort, { protocolVersion: 4, clientId: 'compares' });
  const filters = Array.from({ length: 499 }, (_, i) => `many/+/other-${i}`);
  client.send(subscribe(1, 0, ...filters, 'many/1/+'));
  await client.until('suback', 1);
  for (let times = 0; times < 5; times += 1) await other.settle();
  expect(topicsOf(client.packets)).toEqual([]);
  await client.until('publish', 1);
  expect(topicsOf(client.packets)).toEqual(['many/1/value']);
});

test('each of many SUBSCRIBEs in one segment gets its retained messages', async () => {
  await retain('row', 500);
  const client = await rawClient(broker().mqttPort, { protocolVersion: 4, clientId: 'row' });
  client.write(Buffer.concat(Array.from({ length: 40 }, (_, i) => client.packet(subscribe(i + 1, 0, 'row/#')))));
  await client.until('publish', 40 * 500);
  await client.settle();
  expect(client.count('suback')).toBe(40);
  expect(client.count('publish')).toBe(40 * 500);
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
