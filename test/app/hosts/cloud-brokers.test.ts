import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useNetwork } from '../../support/hosts/network.ts';
import { startPostgres } from '../../support/hosts/postgres-server.ts';
import { type ServiceOnHost, startServiceOn } from '../../support/hosts/service-on-host.ts';
import { startClient } from '../../support/mosquitto.ts';
import { isLong } from '../../support/suite.ts';
import { PATIENCE_MS, report, TEST_TIMEOUT_MS } from './hosts-world.ts';

const hosts = useNetwork();

const CREATE = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';
const BROKER = `query ($id: ID!) { broker(id: $id) {
  url isConnected ... on CloudBroker { state problem runsOn { isAvailable } }
} }`;
const PUBLISH = 'mutation ($input: PublishMessageInput!) { publishMessage(input: $input) { __typename } }';

const UP = { state: 'ACTIVE', problem: null, isConnected: true, runsOn: { isAvailable: true } };
const AWAY = { state: 'ERROR', isConnected: false, runsOn: { isAvailable: false } };

describe.skipIf(hosts.unavailable !== null)('brokers of a process on one host', { timeout: TEST_TIMEOUT_MS }, () => {
  test('are reached by a process on another one, and keep their devices while the database cannot be reached', async () => {
    const { network } = hosts;
    const database = network.host('database');
    const databaseUrl = (await startPostgres(database)).url();
    const host = network.host('one');
    const runner = await startServiceOn(host, {
      databaseUrl,
      env: {
        EMBEDDED_BROKER: 'on',
        MQTT_HOST: '0.0.0.0',
        MQTT_ADVERTISED_HOST: host.address,
        MQTT_PORT: '0',
        MQTT_WS_PORT: '0',
        MQTT_TLS_PORT: 'off',
      },
    });
    const other = await startServiceOn(network.host('two'), { databaseUrl, env: { ROLE: 'api' } });
    await other.signIn();
    const about = async (id: string) => (await other.graphql(BROKER, { id })).broker;
    const reaches = (id: string, state: object) =>
      expect.poll(() => about(id), { timeout: PATIENCE_MS, interval: 250 }).toMatchObject(state);

    const { projects } = await other.graphql('{ projects(first: 1) { nodes { projectId: id } } }');
    const ids: string[] = [];
    for (const engine of ['EMBEDDED', 'MOSQUITTO']) {
      // Without a listener for MQTT without TLS, one is added that the other host reaches, too.
      for (const hasTls of isLong ? [false, true] : [engine === 'MOSQUITTO']) {
        const input = { ...projects.nodes[0], name: engine, engine, listeners: [{ protocol: 'WEBSOCKET', hasTls }] };
        ids.push((await other.graphql(CREATE, { input })).createCloudBroker.broker.id);
      }
    }
    for (const id of ids) {
      await reaches(id, UP);
      expect((await about(id)).url).toMatch(`mqtt://${host.address}:`);
    }
    const devices = await Promise.all(ids.map((id) => startDevice(other, runner.dataDir, id)));

    network.cut(host, [database]);
    const cut = performance.now();
    for (const id of ids) await reaches(id, AWAY);
    report(`noticed ${((performance.now() - cut) / 1_000).toFixed(1)} s after the cut`);
    expect((await about(ids[0] ?? '')).problem).toContain('is gone or cannot reach the database');
    for (const { heard, send } of devices) {
      await send('during');
      expect(heard).toEqual(['during']);
    }
    network.healAll();
    const healed = performance.now();
    for (const id of ids) await reaches(id, UP);
    report(`true states ${((performance.now() - healed) / 1_000).toFixed(1)} s after the network was back`);
    for (const [index, { heard, disconnections }] of devices.entries()) {
      const message = { brokerId: ids[index], topic: 'd', payload: { text: 'after' } };
      await other.graphql(PUBLISH, { input: message });
      await expect.poll(() => heard).toEqual(['during', 'after']);
      expect(disconnections()).toBe(0);
    }
  });
});

/** A device that hears itself. */
async function startDevice(service: ServiceOnHost, dataDir: string, id: string) {
  const password = readFileSync(join(dataDir, 'brokers', id, 'password'), 'utf8');
  const { url } = (await service.graphql(BROKER, { id })).broker;
  const client = await startClient(url, { username: 'admin', password });
  const heard: string[] = [];
  let disconnections = 0;
  client.on('message', (_topic, payload) => heard.push(payload.toString()));
  client.on('close', () => {
    disconnections += 1;
  });
  await client.subscribeAsync('d', { qos: 1 });
  return {
    heard,
    send: async (text: string) => {
      await client.publishAsync('d', text, { qos: 1 });
      await expect.poll(() => heard.at(-1)).toBe(text);
    },
    disconnections: () => disconnections,
  };
}
