import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endLeftOverIn } from '../../../src/engines/mosquitto/mosquitto-broker.ts';
import { openTestStorage } from '../../support/database.ts';
import { startClient } from '../../support/mosquitto.ts';
import { startServiceProcess } from '../../support/service-process.ts';

test('the Mosquittos of a killed service end, or its next start ends them; one that shall run has the same port and all data', async () => {
  const ports = { MQTT_PORT: '0', MQTT_WS_PORT: '0', MQTT_TLS_PORT: 'off' };
  const service = await startServiceProcess({ EMBEDDED_BROKER: 'on', ...ports });
  const folderOf = (id: string) => join(service.dataDir, 'brokers', id);
  const pidOf = (id: string) => Number(readFileSync(join(folderOf(id), 'mosquitto.pid'), 'utf8'));
  // Another process: it is asked until it says so.
  const broker = async (id: string) =>
    (
      await service.graphql('query ($id: ID!) { broker(id: $id) { url isConnected ... on CloudBroker { state } } }', {
        id,
      })
    ).broker;
  const ids: string[] = [];
  for (const name of ['stays', 'was to be stopped', 'was deleted']) {
    const { createCloudBroker } = await service.graphql(
      'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name, engine: 'MOSQUITTO' } },
    );
    ids.push(createCloudBroker.broker.id);
  }
  // The service that is killed at the end of the test leaves some, too.
  onTestFinished(async () => {
    await service.kill();
    for (const id of ids) await endLeftOverIn(folderOf(id));
  });
  for (const id of ids) await expect.poll(() => broker(id)).toMatchObject({ isConnected: true });
  const [id = '', stopped = '', deleted = ''] = ids;
  const ended = ids.map(pidOf);
  await service.kill();
  for (const pid of ended) await expect.poll(() => isThere(pid)).toBe(false);
  await service.start();
  for (const id of ids) await expect.poll(() => broker(id)).toMatchObject({ isConnected: true });
  const left = ids.map(pidOf);
  const { url } = await broker(id);
  const account = { username: 'admin', password: readFileSync(join(folderOf(id), 'password'), 'utf8') };
  const device = await startClient(url, account);
  await device.publishAsync('kept', 'yes', { qos: 1, retain: true });

  // As where there is no shell.
  for (const pid of left) endGuardOf(pid);
  await service.kill();
  expect(device.connected).toBe(true);
  for (const pid of left) process.kill(pid, 0);
  // As by a service that is killed before it has done what it noted.
  const storage = await openTestStorage({ dataDir: service.dataDir, databaseUrl: undefined });
  await storage.db.broker.update({ where: { id: stopped }, data: { targetState: 'INACTIVE' } });
  await storage.db.broker.delete({ where: { id: deleted } });
  await storage.close();
  await service.start();
  // The process that has adopted them may notice their end late.
  for (const pid of left) await expect.poll(() => isThere(pid)).toBe(false);
  expect(left).not.toContain(pidOf(id));
  expect((await broker(id)).url).toBe(url);
  expect((await broker(stopped)).state).toBe('INACTIVE');
  expect(ids.map((each) => existsSync(folderOf(each)))).toEqual([true, true, false]);
  const back = await startClient(url, account);
  const kept = new Promise<string>((resolve) => back.on('message', (_topic, payload) => resolve(payload.toString())));
  await back.subscribeAsync('kept');
  expect(await kept).toBe('yes');
});

/** Ends the process that would end a Mosquitto. */
function endGuardOf(pid: number): void {
  const isGuard = (process: string) => {
    try {
      return readFileSync(`/proc/${process}/cmdline`, 'utf8').endsWith(`\0mosquitto-guard\0${pid}\0`);
    } catch {
      return false;
    }
  };
  const guards = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isGuard(name));
  expect(guards).toHaveLength(1);
  for (const guard of guards) process.kill(Number(guard), 'SIGKILL');
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
