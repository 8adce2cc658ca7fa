import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endLeftOverIn } from '../../src/mosquitto/mosquitto-broker.ts';
import { startClient } from '../support/mosquitto.ts';
import { startServiceProcess } from '../support/service-process.ts';

test('a service that is killed leaves its Mosquitto; when it is back it ends that one, and its own has the same port and all data', async () => {
  const ports = { MQTT_PORT: '0', MQTT_WS_PORT: '0', MQTT_TLS_PORT: 'off' };
  const service = await startServiceProcess({ EMBEDDED_BROKER: 'on', ...ports });
  const { createCloudBroker } = await service.graphql(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { input: { projectId: service.projectId, name: 'Plant', engine: 'MOSQUITTO' } },
  );
  const { id } = createCloudBroker.broker;
  const broker = async () =>
    (await service.graphql('query ($id: ID!) { broker(id: $id) { url isConnected } }', { id })).broker;
  // Another process: it is asked until it says so.
  await expect.poll(broker).toMatchObject({ isConnected: true });
  const folder = join(service.dataDir, 'brokers', id);
  const pid = () => Number(readFileSync(join(folder, 'mosquitto.pid'), 'utf8'));
  const left = pid();
  // The service that is killed at the end of the test leaves one, too.
  onTestFinished(async () => {
    await service.kill();
    await endLeftOverIn(folder);
  });
  const { url } = await broker();
  const account = { username: 'admin', password: readFileSync(join(folder, 'password'), 'utf8') };
  const device = await startClient(url, account);
  await device.publishAsync('kept', 'yes', { qos: 1, retain: true });

  await service.kill();
  expect(device.connected).toBe(true);
  process.kill(left, 0);
  await service.start();
  expect(() => process.kill(left, 0)).toThrow('ESRCH');
  expect(pid()).not.toBe(left);
  expect((await broker()).url).toBe(url);
  const back = await startClient(url, account);
  const kept = new Promise<string>((resolve) => back.on('message', (_topic, payload) => resolve(payload.toString())));
  await back.subscribeAsync('kept');
  expect(await kept).toBe('yes');
});
