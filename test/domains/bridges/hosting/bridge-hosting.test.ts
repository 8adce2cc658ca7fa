import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTestStorage, temporaryFolder } from '../../../support/database.ts';
import { heard, startMosquitto } from '../../../support/mosquitto.ts';
import { addBroker, copy, SECRET, startBridges } from './bridge-world.ts';

test('bridges run again after a restart of the service without a request, with the messages of the meantime', async () => {
  const broker = await startMosquitto();
  const [storage, dataDir] = [await openTestStorage(), temporaryFolder()];
  const [id, other] = [await addBroker(storage, broker.url), await addBroker(storage, broker.url)];
  const client = await broker.client();
  const copied = await heard(client, 'to');
  const first = await startBridges({ storage, dataDir });
  expect(await first.status(id)).toEqual([]);
  expect(existsSync(join(dataDir, 'bridges'))).toBe(false);
  expect(await first.configure(id, copy())).toEqual({ response: 'SUCCESS' });
  await expect.poll(() => first.status(id)).toMatchObject([{ connectionName: 'one', state: 'CONNECTED' }]);
  await client.publishAsync('from', '1', { qos: 1 });
  await expect.poll(() => copied).toEqual(['1']);
  const [row] = await storage.db.bridgeConfig.findMany();
  expect(row).toMatchObject({ brokerId: id, bridge: 'copy-bridge' });
  expect(JSON.stringify(row)).not.toContain(SECRET);
  expect(await first.ask(id, 'getConfig')).toEqual(copy({ password: '***' }));
  await first.close();

  await client.publishAsync('from', '2', { qos: 1 });
  await startBridges({ storage, dataDir });
  await expect.poll(() => copied).toEqual(['1', '2']);
  expect(existsSync(join(dataDir, 'bridges', other))).toBe(false);

  // New settings of the broker: the bridge connects again with them, in the same session.
  const folder = join(dataDir, 'bridges', id);
  const user = () => readFileSync(join(folder, 'copy-bridge', 'user'), 'utf8');
  expect(user()).toBe('nobody');
  await storage.db.broker.update({ where: { id }, data: { username: 'someone' } });
  await storage.changes.announce('broker', id);
  await client.publishAsync('from', '3', { qos: 1 });
  await expect.poll(() => copied).toEqual(['1', '2', '3']);
  await expect.poll(user).toBe('someone');

  // Removed: nothing runs, nothing is on disk, and the broker keeps no session.
  await storage.db.broker.delete({ where: { id } });
  await storage.changes.announce('broker', id);
  await expect.poll(() => existsSync(folder)).toBe(false);
  expect(await storage.db.bridgeConfig.count()).toBe(0);
  const session = await broker.client({ clientId: `brokergraph-${id}-bridge-one`, clean: false, protocolVersion: 4 });
  const left = await heard(session, 'mark');
  session.on('message', (topic) => topic === 'from' && left.push(topic));
  await client.publishAsync('from', '4', { qos: 1 });
  await client.publishAsync('mark', 'x', { qos: 1 });
  await expect.poll(() => left).toEqual(['x']);
  expect(copied).toHaveLength(3);
});

test('a bridge is discarded with its last connection, and starts again with the next one', async () => {
  const broker = await startMosquitto();
  const storage = await openTestStorage();
  const id = await addBroker(storage, broker.url);
  const { configure, status, dataDir } = await startBridges({ storage });
  const client = await broker.client();
  const copied = await heard(client, 'to');
  await configure(id, copy());
  await expect.poll(() => status(id)).toMatchObject([{ state: 'CONNECTED' }]);
  await configure(id, { connections: [] });
  await expect.poll(() => status(id)).toEqual([]);
  await expect.poll(() => existsSync(join(dataDir, 'bridges', id, 'copy-bridge', 'user'))).toBe(false);
  await client.publishAsync('from', 'for nobody', { qos: 1 });
  await configure(id, copy({ to: 'elsewhere' }));
  await configure(id, copy());
  await expect.poll(() => status(id)).toMatchObject([{ state: 'CONNECTED' }]);
  await client.publishAsync('from', 'again', { qos: 1 });
  await expect.poll(() => copied).toEqual(['again']);
});

test('an exit of the thread is reported by each connection, and the restarted thread runs the configuration again', async () => {
  const broker = await startMosquitto();
  const storage = await openTestStorage();
  const id = await addBroker(storage, broker.url);
  const { configure, status, statuses, lines } = await startBridges({ storage });
  await expect.poll(() => status(id)).toEqual([]);
  const told = statuses(id);
  const client = await broker.client();
  const copied = await heard(client, 'to');
  const off = { name: 'off', active: false, from: 'a', to: 'b' };
  await configure(id, { connections: [...copy().connections, off] });
  await expect.poll(() => told.at(-2)?.state).toBe('CONNECTED');
  // Of QoS 0, so that it does not come again.
  client.publish('from', 'end the thread');
  await expect.poll(() => told.map(({ state }) => state)).toContain('FAILED');
  const failed = told.find(({ state }) => state === 'FAILED');
  expect(failed).toMatchObject({ connectionName: 'one', isConnected: false });
  expect(failed?.error).toMatch(/a bug/);
  await expect.poll(() => status(id)).toMatchObject([{ state: 'CONNECTED' }, { state: 'INACTIVE' }]);
  await client.publishAsync('from', 'after', { qos: 1 });
  await expect.poll(() => copied).toEqual(['after']);
  expect(told.filter(({ connectionName }) => connectionName === 'off').every(({ error }) => error === undefined)).toBe(
    true,
  );
  expect(lines.some((line) => line.startsWith('the worker thread of bridges failed {"reason":"a bug"}'))).toBe(true);
});

test('a bridge that cannot run is FAILED with the reason, others run, and it runs after a new configuration', async () => {
  const broker = await startMosquitto();
  const storage = await openTestStorage();
  const [id, other] = [await addBroker(storage, broker.url), await addBroker(storage, broker.url)];
  const { configure, status } = await startBridges({ storage });
  await configure(id, copy({ from: 'broken' }));
  expect(await status(id)).toMatchObject([
    { connectionName: 'one', state: 'FAILED', error: 'The bridge cannot run: it is broken' },
  ]);
  await configure(other, copy());
  await expect.poll(() => status(other)).toMatchObject([{ state: 'CONNECTED' }]);
  await configure(id, copy());
  await expect.poll(() => status(id)).toMatchObject([{ state: 'CONNECTED' }]);
});

test('a configuration sealed with another key is neither run nor returned, and can be replaced', async () => {
  const broker = await startMosquitto();
  const storage = await openTestStorage();
  const id = await addBroker(storage, broker.url);
  const first = await startBridges({ storage });
  await first.configure(id, copy());
  await first.close();
  const { ask, configure, status } = await startBridges({ storage, secretKey: 'a key that was made later than that' });
  await expect(ask(id, 'getConfig')).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  await expect(configure(id, copy({ password: '***' }))).rejects.toMatchObject({ code: 'INVALID' });
  await configure(id, copy());
  await expect.poll(() => status(id)).toMatchObject([{ state: 'CONNECTED' }]);
});

test('files of queues remain if the configuration cannot be read, and are deleted if it has no connections', async () => {
  const broker = await startMosquitto();
  const [storage, dataDir] = [await openTestStorage(), temporaryFolder()];
  const [id, other] = [await addBroker(storage, broker.url), await addBroker(storage, broker.url)];
  const first = await startBridges({ storage, dataDir });
  const queueOf = (brokerId: string) => join(dataDir, 'bridges', brokerId, 'copy-bridge', 'user');
  for (const each of [id, other]) await first.configure(each, copy());
  await expect.poll(() => [id, other].every((each) => existsSync(queueOf(each)))).toBe(true);
  await first.close();

  const sealedConfig = 'sealed with another key';
  await storage.db.bridgeConfig.update({
    where: { brokerId_bridge: { brokerId: id, bridge: 'copy-bridge' } },
    data: { sealedConfig },
  });
  await storage.db.bridgeConfig.delete({ where: { brokerId_bridge: { brokerId: other, bridge: 'copy-bridge' } } });
  const { status } = await startBridges({ storage, dataDir });
  expect([await status(id), await status(other)]).toEqual([[], []]);
  expect([id, other].map((each) => existsSync(queueOf(each)))).toEqual([true, false]);
});
