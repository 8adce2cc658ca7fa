import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { generate, type Packet } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { connect } from '../../data-plane/broker/embedded.ts';
import { temporaryFolder } from '../../support/database.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** Attacks the broker of a complete service with an ordinary account. */

const BROKER = `query ($project: ID!) { project(id: $project) { brokers(first: 1) { nodes {
  id url ... on CloudBroker { state problem }
} } } }`;

async function brokerOf(service: TestService) {
  const { data } = await service.graphql(BROKER, { project: service.projectId });
  const { id, url, state, problem } = data.project.brokers.nodes[0];
  const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8');
  return { id: id as string, port: Number(new URL(url).port), state, problem, password };
}

const faultsOf = async (service: TestService): Promise<string[]> => {
  const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${service.root}` } });
  return (await response.text()).split('\n').filter((line) => line.startsWith('brokergraph_mqtt_faults_total{'));
};

const start = (dataDir: string) => startTestService({ dataDir, embeddedBroker: true });

const DEEP = `${'a/'.repeat(200)}z`;
const publish = { cmd: 'publish', topic: 't', payload: '', qos: 2, messageId: 5, retain: false, dup: false } as const;
const release = { cmd: 'pubrel', messageId: 5 } as const;
const CUT_OFF = Buffer.from('32120005746F706963123401087061796C6F6164', 'hex');

test('no packet ends the broker of a service', async () => {
  const service = await start(temporaryFolder());
  const { id, port, password } = await brokerOf(service);
  const send = async (protocolVersion: 4 | 5, fields: object, ...packets: readonly (Packet | Buffer)[]) => {
    const protocol = { protocolId: 'MQTT', protocolVersion, keepalive: 0 } as const;
    const account = { username: 'admin', password: Buffer.from(password) };
    const hello = { cmd: 'connect', clientId: 'hostile', clean: true, ...protocol, ...account, ...fields } as const;
    const socket = createConnection(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    const bytes = [hello, ...packets].map((one) => (Buffer.isBuffer(one) ? one : generate(one, { protocolVersion })));
    const closed = once(socket, 'close');
    socket.write(Buffer.concat(bytes));
    await Promise.race([once(socket, 'data'), closed]);
    socket.resetAndDestroy();
    await closed;
  };
  const subscribe: Packet = {
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: ['__proto__', 'a'].map((topic) => ({ topic, qos: 1, nl: false, rap: false, rh: 0 })),
  };
  for (const version of [4, 5] as const) {
    await send(version, { will: { topic: DEEP, payload: Buffer.from('gone'), qos: 0, retain: false } });
    await send(version, {}, publish, release, release);
    const session = { clean: false, clientId: `session-${version}`, properties: { sessionExpiryInterval: 1_000 } };
    await send(version, session, subscribe);
    await send(version, session);
    await send(version, session);
    await send(version, {}, CUT_OFF);
  }
  const client = await connect(port, { username: 'admin', password });
  await client.publishAsync('a', 'text', { qos: 2 });
  expect(await brokerOf(service)).toMatchObject({ id, port, state: 'ACTIVE', problem: null });
  expect(await faultsOf(service)).toEqual([
    'brokergraph_mqtt_faults_total{kind="connection"} 0',
    'brokergraph_mqtt_faults_total{kind="message"} 0',
    'brokergraph_mqtt_faults_total{kind="record"} 0',
  ]);
});

test('a service starts its broker with a store that ended it before, and names the records in quarantine', async () => {
  const dataDir = temporaryFolder();
  const before = await start(dataDir);
  const { id } = await brokerOf(before);
  await before.close();
  const folder = join(dataDir, 'brokers', id);
  for (const suffix of ['-wal', '-shm']) rmSync(join(folder, `broker.sqlite${suffix}`), { force: true });
  const stored = readFileSync(new URL('../../data-plane/broker/stores/deep-will.sqlite.gz', import.meta.url));
  writeFileSync(join(folder, 'broker.sqlite'), gunzipSync(stored));

  const service = await start(dataDir);
  const { state, problem, port, password } = await brokerOf(service);
  expect(state).toBe('ACTIVE');
  expect(problem).toMatch(
    /^It runs without 2 stored records, now in quarantine: will "five": .*levels; will "four": .*levels$/,
  );
  const client = await connect(port, { username: 'admin', password });
  await client.publishAsync('a', 'text', { qos: 1 });
  expect(await faultsOf(service)).toContain('brokergraph_mqtt_faults_total{kind="record"} 2');
});
