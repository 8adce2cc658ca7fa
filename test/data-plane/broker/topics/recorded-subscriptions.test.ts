import type { IClientOptions, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { connect, startTestBroker } from '../embedded.ts';
import { listed, namesOf, setRecording, statusOf, topicsDone, untilListed } from './topics.ts';

const subscriptionsOf = async (client: MqttClient) =>
  (await listed(client, 'SUBSCRIBED')).map(({ topic, messages, qos }) => [topic, messages, qos]);

test('filters of all clients and sessions are listed with their number of subscriptions, including existing ones', async () => {
  const { mqttPort } = await startTestBroker();
  const away = await connect(mqttPort, { clientId: 'away', clean: false });
  await away.subscribeAsync({ 'before/away/#': { qos: 2 }, 'before/+/both': { qos: 1 } });
  await away.endAsync();
  const brief = await connect(mqttPort, { clientId: 'brief' });
  await brief.subscribeAsync({
    'before/+/both': { qos: 0 },
    'before/brief': { qos: 1 },
    '$SYS/broker/uptime': { qos: 0 },
  });
  // Connections of the service itself are not counted.
  await (await connect(mqttPort, { clientId: 'brokergraph-test-1' })).subscribeAsync('before/own');
  const admin = await connect(mqttPort);
  expect((await subscriptionsOf(admin)).sort()).toEqual([
    ['before/+/both', 2, expect.any(Number)],
    ['before/away/#', 1, 2],
    ['before/brief', 1, 1],
  ]);

  await brief.subscribeAsync(['before/brief', 'later/one', 'later/two'], { qos: 2 });
  await brief.subscribeAsync('later/one', { qos: 0 });
  await (await connect(mqttPort, { clientId: 'brokergraph-test-2', clean: false })).subscribeAsync('later/own');
  const back = await connect(mqttPort, { clientId: 'away', clean: false, protocolVersion: 5 });
  await back.subscribeAsync(['later/two', '$share/group/later'], { qos: 1 });
  const told = await subscriptionsOf(admin);
  expect(told).toEqual([
    ['$share/group/later', 1, 1],
    ['before/+/both', 2, expect.any(Number)],
    ['before/away/#', 1, 2],
    ['before/brief', 2, 2],
    ['later/one', 2, 0],
    ['later/two', 2, 1],
  ]);
  expect(await statusOf(admin)).toMatchObject({ state: 'RECORDING', subscribed: { count: 6, isTruncated: false } });
});

test('a topic is removed a TTL after its last message; a filter is removed a TTL after its last session or client', async () => {
  const { mqttPort } = await startTestBroker();
  const admin = await connect(mqttPort);
  await setRecording(admin, { ttlSeconds: 1 });
  const session = { clean: false } as const;
  const lasting = async (clientId: string, options: IClientOptions = session) => {
    const client = await connect(mqttPort, { clientId, ...options });
    await client.subscribeAsync([`of/${clientId}`, 'of/many'], { qos: 1 });
    return client;
  };
  const away = await lasting('away');
  await away.endAsync();
  const taken = await lasting('taken');
  const brief = await lasting('brief', { clean: true });
  const cut = await lasting('cut', { clean: true });
  const expiring = await lasting('expiring', {
    protocolVersion: 5,
    clean: false,
    properties: { sessionExpiryInterval: 1 },
  });
  const leaving = await lasting('leaving');
  const all = ['away', 'brief', 'cut', 'expiring', 'leaving', 'many', 'taken'].map((name) => `of/${name}`);
  await admin.publishAsync('gone', '1', { qos: 1, retain: true });
  const published = Date.now();
  expect(await namesOf(admin, 'SUBSCRIBED')).toEqual(all);

  const goneAt = await untilListed(admin, 'PUBLISHED', (topics) => topics.length === 0);
  // The time of a use has a precision of a quarter of a second.
  expect(goneAt - published).toBeGreaterThan(400);
  // Everybody still has them, one of them from afar.
  expect(await namesOf(admin, 'SUBSCRIBED')).toEqual(all);
  // Released long after they were subscribed to, so the TTL begins now.
  const released = Date.now();
  await taken.subscribeAsync('of/taken');
  await connect(mqttPort, { clientId: 'taken', clean: true });
  await brief.endAsync();
  cut.stream.destroy();
  await leaving.unsubscribeAsync('of/leaving');
  await expiring.endAsync();
  const endedAt = await untilListed(admin, 'SUBSCRIBED', (topics) => topics.length <= 3);
  expect(endedAt - released).toBeGreaterThan(400);
  await untilListed(admin, 'SUBSCRIBED', (topics) => topics.join() === 'of/away,of/many');
  expect(Date.now() - released).toBeGreaterThan(1_400);
});

test('filters beyond the limit are left out and counted, and listed when there is room again', async () => {
  const { mqttPort } = await startTestBroker();
  const admin = await connect(mqttPort);
  await setRecording(admin, { subscribeLimit: 2, publishLimit: 1 });
  const first = await connect(mqttPort);
  await first.subscribeAsync(['a', 'b'], { qos: 1 });
  const second = await connect(mqttPort);
  await second.subscribeAsync(['c', 'd'], { qos: 2 });
  await first.publishAsync('early', '', { qos: 1 });
  // Recording started with the first query, so earlier messages are missing.
  await statusOf(admin);
  for (const topic of ['x', 'y', 'x', 'y']) await first.publishAsync(topic, '', { qos: 1 });
  const { subscribed, published } = await statusOf(admin);
  expect(subscribed).toEqual({ count: 2, leftOut: 2, isTruncated: true });
  expect(published).toEqual({ count: 1, leftOut: 2, isTruncated: true });
  expect(await listed(admin)).toMatchObject([{ topic: 'x', messages: 2 }]);

  await topicsDone(admin, 'setLimits', { subscribeLimit: 10 });

  expect(await subscriptionsOf(admin)).toEqual([
    ['a', 1, 1],
    ['b', 1, 1],
    ['c', 1, 2],
    ['d', 1, 2],
  ]);
});
