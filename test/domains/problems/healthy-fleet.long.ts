import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { ADMIN, FOLLOWED_LOG, type Mosquitto, startMosquitto } from '../../support/mosquitto.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { SLOW } from './problem-world.ts';

const BROKERS = Number(process.env.FLEET_BROKERS ?? 200);
const SECONDS = Number(process.env.FLEET_SECONDS ?? 1_800);
const timeout = SECONDS * 1_000 + BROKERS * 10_000 + 300_000;
const STEP_MS = 1_000;
/** One broker of so many has a stream and a bridge. */
const EACH = 10;

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const STREAM = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { __typename } }';
const BRIDGE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { __typename } }';
const CONNECTED = `query ($id: ID!) { project(id: $id) { brokers(first: ${BROKERS}) { nodes { connection { state } } } } }`;
const PROBLEMS = `query { problems(filter: { isOpen: null }, first: 100) {
  nodes { kind subjectName detail openedAt closedAt count } } }`;

/** Publishes a reading and receives it, and connects a device for a moment now and then. */
async function traffic(mosquitto: Mosquitto, nth: number, until: number) {
  const client = await mosquitto.client({ clientId: `press-${nth}`, clean: false });
  let received = 0;
  client.on('message', () => {
    received += 1;
  });
  await client.subscribeAsync('plant/#', { qos: 1 });
  let sent = 0;
  for (; Date.now() < until; sent += 1) {
    await client.publishAsync('plant/press', `{ "value": ${sent} }`, { qos: 1, retain: true });
    if (sent % 30 === nth % 30) {
      const device = await mosquitto.client({ clientId: `device-${nth}` });
      await device.endAsync();
    }
    await delay(STEP_MS);
  }
  await client.endAsync();
  return { sent, received };
}

test(`a healthy fleet of ${BROKERS} brokers under traffic opens no problem`, { timeout }, async () => {
  useSqlite();
  const service = await startServiceProcess({ BROKER_ALLOWED_HOSTS: '*,127.0.0.0/8' });
  const { projectId } = service;
  const fleet: Mosquitto[] = [];
  for (let nth = 0; nth < BROKERS; nth += 1) {
    const mosquitto = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG, sysInterval: 10 });
    fleet.push(mosquitto);
    const input = { projectId, name: `plant ${nth}`, url: mosquitto.url, ...ADMIN };
    const { addBroker } = await service.graphql(ADD, { input });
    if (nth % EACH !== 1) continue;
    const brokerId = addBroker.broker.id;
    const query = { select: [{ source: '[value]', target: '[value]' }] };
    const stream = { brokerId, name: 'values', sourceTopic: 'plant/#', targetTopic: 'values', query, persist: true };
    await service.graphql(STREAM, { input: stream });
    const topics = [{ pattern: 'plant/#', direction: 'out', qos: 1, remotePrefix: `from/${nth}/` }];
    const up = { name: 'up', url: fleet[0]?.url, ...ADMIN, topics };
    await service.graphql(BRIDGE, { input: { brokerId, bridgeKey: 'mqtt-bridge', config: { connections: [up] } } });
  }
  const states = async () => {
    const { project } = await service.graphql(CONNECTED, { id: projectId });
    return new Set(project.brokers.nodes.map((one: { connection: { state: string } }) => one.connection.state));
  };
  await expect.poll(states, SLOW).toEqual(new Set(['CONNECTED']));

  const until = Date.now() + SECONDS * 1_000;
  const done = await Promise.all(fleet.map((mosquitto, nth) => traffic(mosquitto, nth, until)));

  const sent = done.reduce((sum, one) => sum + one.sent, 0);
  const received = done.reduce((sum, one) => sum + one.received, 0);
  const memory = `${Math.round(service.rss())} MB`;
  console.log(`${BROKERS} brokers, ${sent} messages sent and ${received} received in ${SECONDS} s, ${memory}`);
  expect((await service.graphql(PROBLEMS)).problems.nodes).toEqual([]);
});
