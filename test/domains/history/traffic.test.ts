import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { TopSketch } from '../../../src/data-plane/broker/traffic/top-sketch.ts';
import { onTestFinished } from '../../support/shared.ts';
import { codeOf } from '../clients/graph/operations.ts';
import { embeddedBroker, mosquittoBroker } from '../clients/truth/observed-broker.ts';
import { randomOf } from '../clients/truth/random.ts';

test('counts of a sketch are right within its bound, also when sketches are merged', () => {
  const random = randomOf(7);
  const exact = new Map<string, number>();
  const merged = new TopSketch(50);
  for (let part = 0; part < 5; part += 1) {
    const sketch = new TopSketch(50);
    for (let index = 0; index < 20_000; index += 1) {
      // A few names have most of the total.
      const name = `n${random.chance(0.5) ? random.below(10) : random.below(20_000)}`;
      const count = 1 + random.below(3);
      exact.set(name, (exact.get(name) ?? 0) + count);
      sketch.add(name, count);
    }
    merged.merge(sketch);
  }
  const total = [...exact.values()].reduce((sum, count) => sum + count, 0);
  expect(merged.total).toBe(total);
  expect(merged.maxError).toBeLessThanOrEqual(total / 50);
  for (const { name, count } of merged.top(50)) {
    expect(count).toBeLessThanOrEqual(exact.get(name) ?? 0);
    expect(count + merged.maxError).toBeGreaterThanOrEqual(exact.get(name) ?? 0);
  }
  const largest = [...exact].sort(([, a], [, b]) => b - a).slice(0, 10);
  expect(new Set(merged.top(10).map(({ name }) => name))).toEqual(new Set(largest.map(([name]) => name)));
});

const TOP = `query ($id: ID!, $levels: Int) { broker(id: $id) {
  in: topClients(by: MESSAGES_IN, last: MINUTE) { total maxError isComplete entries { name count } }
  out: topClients(by: BYTES_OUT, last: HOUR) { entries { name count } }
  topics: topTopics(by: BYTES_IN, last: MINUTE, levels: $levels) { total entries { name count } }
  lastPublisher(topic: "hall/1/temperature") { clientId } } }`;

test('the embedded broker counts what each client and topic has, and knows the last publisher', async () => {
  const { service, brokerId, port } = await embeddedBroker();
  const [broker] = service.services.brokers.visibleIn(service.projectId, null);
  if (!broker) throw new Error('There is no broker');
  const acls = ['publishClientSend', 'publishClientReceive', 'subscribe'].map((acltype) => ({ acltype, allow: true }));
  const { controls } = service.services.runtimes.get(broker);
  await controls.call('dynamic-security', 'setDefaultACLAccess', { acls });
  const connect = async (clientId: string) => {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, reconnectPeriod: 0 });
    onTestFinished(() => client.endAsync(true));
    return client;
  };
  const reader = await connect('reader');
  let received = 0;
  reader.on('message', () => {
    received += 1;
  });
  await reader.subscribeAsync('hall/#');
  for (const [clientId, count] of [
    ['loud', 30],
    ['quiet', 5],
  ] as const) {
    const client = await connect(clientId);
    for (let number = 0; number < count; number += 1)
      await client.publishAsync(`hall/${number % 2}/temperature`, '12345', { qos: number % 2 === 0 ? 0 : 1 });
    if (clientId === 'loud') await client.endAsync();
  }
  await expect.poll(() => received).toBe(35);
  const top = async (levels?: number) => (await service.graphql(TOP, { id: brokerId, levels })).data.broker;
  const found = await top();
  expect(found.in).toMatchObject({ maxError: 0, isComplete: true });
  const ofTest = (entries: readonly { name: string }[]) => entries.filter(({ name }) => !/^mqttjs/.test(name));
  expect(ofTest(found.in.entries)).toEqual([
    { name: 'loud', count: 30 },
    { name: 'quiet', count: 5 },
  ]);
  expect(ofTest(found.out.entries)).toContainEqual({ name: 'reader', count: 175 });
  expect(found.topics.entries).toEqual([
    { name: 'hall/0/temperature', count: 90 },
    { name: 'hall/1/temperature', count: 85 },
  ]);
  expect(found.lastPublisher).toEqual({ clientId: 'quiet' });
  expect((await top(1)).topics.entries).toEqual([{ name: 'hall', count: 175 }]);
  expect((await top(2)).topics.entries).toContainEqual({ name: 'hall/1', count: 85 });
  expect(codeOf(await service.graphql(TOP, { id: brokerId, levels: 4 }))).toBe('INVALID');
});

test('Mosquitto does not report the traffic of clients, and the error says what would help', async () => {
  const { service, brokerId } = await mosquittoBroker();
  const { data, errors } = await service.graphql(TOP, { id: brokerId });
  expect(data.broker).toEqual({ in: null, out: null, topics: null, lastPublisher: null });
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(Array(4).fill('NOT_SUPPORTED_BY_BROKER'));
});
