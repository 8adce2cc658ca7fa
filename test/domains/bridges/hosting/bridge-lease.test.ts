import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import { SolePlacement } from '../../../../src/protocol/hosting/placement/placement.ts';
import { openTestStorage } from '../../../support/database.ts';
import { heard, startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { addBroker, copy, copyKind, SECRET, startBridges } from './bridge-world.ts';

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('one of two processes runs a bridge, both serve it, and the other continues when the first closes', async () => {
    const databaseUrl = await postgres.createDatabase();
    const broker = await startMosquitto();
    const storage = await openTestStorage({ databaseUrl });
    const id = await addBroker(storage, broker.url);
    const one = await startBridges({ storage });
    await one.configure(id, copy());
    await expect.poll(() => one.status(id)).toMatchObject([{ state: 'CONNECTED' }]);
    const two = await startBridges({ storage: await openTestStorage({ databaseUrl }) });
    await expect.poll(() => two.status(id)).toMatchObject([{ state: 'CONNECTED' }]);

    const client = await broker.client();
    const copied = await heard(client, 'to');
    await client.publishAsync('from', '1', { qos: 1 });
    await expect.poll(() => copied).toEqual(['1']);
    expect(await two.ask(id, 'getConfig')).toEqual(copy({ password: '***' }));
    await expect(two.configure(id, { connections: [{}] })).rejects.toMatchObject({ code: 'INVALID' });

    // Events of one process reach the other, and commands to the other run in the first.
    const told = two.statuses(id);
    await two.configure(id, copy({ active: false, password: '***' }));
    await expect.poll(() => told.at(-1)?.state).toBe('INACTIVE');
    expect(await one.status(id)).toMatchObject([{ state: 'INACTIVE' }]);
    await two.configure(id, copy({ password: '***' }));
    await expect.poll(() => told.at(-1)?.state).toBe('CONNECTED');

    const runsIn = ({ dataDir }: { readonly dataDir: string }) => existsSync(join(dataDir, 'bridges', id));
    expect([one, two].map(runsIn)).toEqual([true, false]);
    await one.close();
    await client.publishAsync('from', '2', { qos: 1 });
    await expect.poll(() => copied).toEqual(['1', '2']);
    await expect.poll(() => two.status(id)).toMatchObject([{ state: 'CONNECTED', received: 1 }]);
    await expect.poll(() => storage.db.hostedCall.count()).toBe(0);
  });

  test('a configuration that is forwarded to the lease holder is sealed in the database', async () => {
    const databaseUrl = await postgres.createDatabase();
    const broker = await startMosquitto();
    const silent = await openTestStorage({ databaseUrl });
    const id = await addBroker(silent, broker.url);
    expect(await new SolePlacement(silent.leases).want(id, () => undefined).attempt()).toBe(true);
    const storage = await openTestStorage({ databaseUrl });
    const world = await startBridges({ storage });
    const answer = world.configure(id, copy());
    await expect.poll(() => storage.db.hostedCall.count()).toBe(1);
    const [call] = await storage.db.hostedCall.findMany();
    expect(call).toMatchObject({ brokerId: id, api: copyKind.api, answer: null });
    expect(call?.command).not.toContain(SECRET);
    // The next lease holder runs the configuration of the previous one.
    await silent.close();
    expect(await answer).toEqual({ response: 'SUCCESS' });
    await expect.poll(() => world.status(id)).toMatchObject([{ state: 'CONNECTED' }]);
    const [row] = await storage.db.bridgeConfig.findMany();
    expect(row?.sealedConfig).not.toContain(SECRET);
  });

  test('queues remain if the configuration cannot be read or has not arrived yet, and are deleted with connections', async () => {
    const databaseUrl = await postgres.createDatabase();
    const broker = await startMosquitto();
    const storage = await openTestStorage({ databaseUrl });
    const ids = [await addBroker(storage, broker.url), await addBroker(storage, broker.url)];
    const [id = '', other = ''] = ids;
    const queues = async () =>
      (
        await storage.db.$queryRaw<{ broker: string }[]>`SELECT broker FROM messages.log_owner WHERE broker IS NOT NULL`
      ).map((row) => row.broker);
    const first = await startBridges({ storage });
    for (const each of ids) await first.configure(each, copy());
    await first.close();
    const configs = await storage.db.bridgeConfig.findMany();
    for (const each of ids) {
      await storage.db.$executeRaw`INSERT INTO messages.log_owner (key, name, turn, broker)
        VALUES (${groupOf(each, copyKind.id)}, '', 1, ${each})`;
    }

    // One configuration arrives late, the other one is damaged.
    await storage.db.bridgeConfig.deleteMany();
    const second = await startBridges({ storage, databaseUrl });
    for (const config of configs) {
      const sealedConfig = config.brokerId === id ? config.sealedConfig : 'damaged';
      await storage.db.bridgeConfig.create({ data: { ...config, sealedConfig } });
    }
    await expect.poll(() => second.status(id)).toMatchObject([{ state: 'CONNECTED' }]);
    expect(await second.status(other)).toEqual([]);
    expect((await queues()).sort()).toEqual([...ids].sort());
    await second.close();

    // The last connection was removed in another process.
    const third = await startBridges({ storage, databaseUrl });
    await storage.db.bridgeConfig.deleteMany({ where: { brokerId: other } });
    expect(await third.status(other)).toEqual([]);
    expect(await queues()).toEqual([id]);
  });
});
