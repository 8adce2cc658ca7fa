import { expect, onTestFinished, test } from 'vitest';
import { BROKER_LIMITS } from '../../../src/data-plane/broker/limits.ts';
import { ADMINISTRATOR, connect, startBrokerHere } from '../../data-plane/broker/embedded.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { connected, startTestService } from '../../support/service.ts';
import { addBroker } from '../messages/message-world.ts';
import { worldOf } from '../streams/stream-world.ts';
import { closedAfter, LASTING_MS, openedAfter, problemsOf } from './problem-world.ts';

const THRESHOLDS =
  'mutation ($input: SetProblemThresholdsInput!) { setProblemThresholds(input: $input) { __typename } }';
const KINDS = [
  'BRIDGE_DOWN',
  'BRIDGE_DROPPING',
  'BRIDGE_LOOP',
  'BRIDGE_QUEUE_FILLING',
  'QUEUES_DROPPING',
  'RETAINED_LIMIT',
  'STREAM_NOT_STORING',
];
const QUEUE_LENGTH = 10;
const QUEUE_LIMIT = 20;

/** A broker that stores two retained messages more than those that it has. */
async function brokerWithFewRetained() {
  const { retainedMessages } = BROKER_LIMITS;
  BROKER_LIMITS.retainedMessages = 2;
  onTestFinished(() => {
    BROKER_LIMITS.retainedMessages = retainedMessages;
  });
  return startBrokerHere();
}

test('loops, full queues and full stores of messages each open the problem that names them, which closes after the repair', async () => {
  const [far, gone] = [await startMosquitto(), await startMosquitto()];
  const back = ['connection back', `address 127.0.0.1:${far.port}`, 'topic loop/# in 1'];
  const [near, small] = [
    await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG, lines: back }),
    await startMosquitto({ logTypes: FOLLOWED_LOG, lines: [`max_queued_messages ${QUEUE_LENGTH}`] }),
  ];
  const few = await brokerWithFewRetained();
  const service = await startTestService({ env: { STREAM_STORAGE_MAX_MB: '1' } });
  const brokerId = await addBroker(service, near.url, ADMIN);
  const smallId = await addBroker(service, small.url);
  const fewId = await addBroker(service, `mqtt://127.0.0.1:${few.mqttPort}`, ADMINISTRATOR);
  for (const id of [brokerId, smallId, fewId]) await connected(service, id);
  const setThresholds = (values: object) =>
    service.graphql(THRESHOLDS, { input: { projectId: service.projectId, ...values } });
  await setThresholds({ bridgeQueuedMessages: QUEUE_LENGTH });
  const world = worldOf(service, brokerId, near.url, ADMIN);
  const up = {
    ...{ name: 'up', url: gone.url, topics: [{ pattern: 'up/#', direction: 'out', qos: 1 }] },
    queue: { maxMessages: QUEUE_LIMIT },
  };
  const round = { name: 'round', url: far.url, topics: [{ pattern: 'loop/#', direction: 'out', qos: 1 }] };
  const configure = (connections: readonly object[]) =>
    world.change('updateBridgeConfig', { bridgeKey: 'mqtt-bridge', config: { connections } }, '__typename');
  await configure([up, round]);
  await world.change('createStream', { name: 'stored', sourceTopic: 'big/#', persist: true }, '__typename');
  const status = async () => {
    const { streams, bridges } = (await service.graphql(STATES, { id: brokerId })).data.broker;
    return [...streams.nodes, ...bridges.flatMap((one: { connections: unknown[] }) => one.connections)].map(
      ({ name, state }) => `${name} ${state}`,
    );
  };
  await expect.poll(status).toEqual(expect.arrayContaining(['stored RUNNING', 'up CONNECTED', 'round CONNECTED']));
  const client = await near.client();
  const publish = (topic: string, text: string | Buffer) => client.publishAsync(topic, text, { qos: 1 });

  const loopAt = Date.now();
  // Until the bridge of Mosquitto is connected, nothing comes back.
  const looping = setInterval(() => void publish('loop/a', 'round').catch(() => undefined), 500);
  onTestFinished(() => clearInterval(looping));

  const sleeper = await small.client({ clientId: 'sleeper', clean: false });
  await sleeper.subscribeAsync('sleep/#', { qos: 1 });
  await sleeper.endAsync(true);
  const awake = await small.client();
  const droppedAt = Date.now();
  await Promise.all(Array.from({ length: 200 }, (_, i) => awake.publishAsync('sleep/a', `${i}`, { qos: 1 })));

  const retaining = await connect(few.mqttPort, { protocolVersion: 5 });
  const retain = (topic: string) => retaining.publishAsync(topic, 'x', { qos: 1, retain: true });
  for (const topic of ['a', 'b']) await retain(topic);
  const retainedAt = Date.now();
  await expect(retain('c')).rejects.toThrow();

  const storedAt = Date.now();
  for (let count = 0; count < 12; count += 1) await publish('big/a', Buffer.alloc(100_000, `${count}`));

  await gone.kill();
  const queuedAt = Date.now();
  for (let count = 0; count < QUEUE_LIMIT * 2; count += 1) await publish('up/a', `${count}`);

  const of = (id: string) => ({ subjectId: id, broker: { id } });
  expect(await openedAfter(service, 'BRIDGE_LOOP', { causedAt: loopAt })).toMatchObject({
    subjectName: 'mqtt-bridge: round',
    detail: expect.stringContaining('"loop/a"'),
  });
  expect(await openedAfter(service, 'RETAINED_LIMIT', { causedAt: retainedAt })).toMatchObject(of(fewId));
  expect(await openedAfter(service, 'BRIDGE_DROPPING', { causedAt: queuedAt })).toMatchObject({
    subjectName: 'mqtt-bridge: up',
    detail: expect.stringContaining(`: ${QUEUE_LIMIT}.`),
  });
  expect(
    await openedAfter(service, 'BRIDGE_QUEUE_FILLING', { causedAt: queuedAt, withinMs: LASTING_MS }),
  ).toMatchObject({ subjectName: 'mqtt-bridge: up', detail: expect.stringContaining(`${QUEUE_LIMIT} messages`) });
  expect(await openedAfter(service, 'QUEUES_DROPPING', { causedAt: droppedAt, withinMs: LASTING_MS })).toMatchObject(
    of(smallId),
  );
  expect(await openedAfter(service, 'STREAM_NOT_STORING', { causedAt: storedAt, withinMs: LASTING_MS })).toMatchObject({
    subjectName: 'stored',
    broker: { id: brokerId },
  });
  await openedAfter(service, 'BRIDGE_DOWN', { causedAt: queuedAt });
  const kinds = (await problemsOf(service, {})).map(({ kind }) => kind);
  // Mosquitto's own bridge is a connection without a client in the log.
  expect(kinds.filter((kind) => kind !== 'LIST_INCOMPLETE').sort()).toEqual(KINDS);

  clearInterval(looping);
  const repairedAt = Date.now();
  await gone.start();
  // Instead of waiting for the end of the minute in which they were dropped.
  await setThresholds({ droppedPerMinute: 1_000 });
  await configure([up]);
  await world.change('clearStreamMessages', { name: 'stored' }, '__typename');
  for (const kind of KINDS) await closedAfter(service, kind, repairedAt);
});

const STATES = `query ($id: ID!) { broker(id: $id) {
  streams { nodes { name state } } bridges { connections { name state } } } }`;
