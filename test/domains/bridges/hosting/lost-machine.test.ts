import { rmSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../support/free-port.ts';
import { heard, startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { startRelay } from '../../../support/relay.ts';
import { startServiceProcess } from '../../../support/service-process.ts';

const UPDATE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const STATUS = 'query ($id: ID!) { broker(id: $id) { bridge(key: "mqtt-bridge") { status } } }';

const DELETE = 'mutation ($input: DeleteBrokerInput!) { deleteBroker(input: $input) { deletedBrokerId } }';

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('what a bridge has acknowledged is delivered, in order, by another process after its machine is lost', async () => {
    const databaseUrl = await postgres.createDatabase();
    const env = {
      DATABASE_URL: databaseUrl,
      SECRET_KEY: '5e'.repeat(32),
      BROKER_ALLOWED_HOSTS: '*,localhost,127.0.0.0/8,::1',
    };
    const [line, centre] = [await startMosquitto(), await startMosquitto()];
    const [port, centrePort] = [await freePort(), Number(new URL(centre.url).port)];
    const relay = await startRelay(centrePort, { at: port });
    const one = await startServiceProcess(env);
    const id = await one.addBroker(line.url);
    const topics = [{ pattern: 'plant/#', direction: 'out', qos: 1 }];
    const config = { connections: [{ name: 'centre', url: relay.url, topics }] };
    await one.graphql(UPDATE, { input: { brokerId: id, bridgeKey: 'mqtt-bridge', config } });
    const stateIn = async ({ graphql }: typeof one) => (await graphql(STATUS, { id })).broker.bridge?.status[0]?.state;
    await expect.poll(() => stateIn(one)).toBe('CONNECTED');
    const two = await startServiceProcess(env);
    await expect.poll(() => stateIn(two)).toBe('CONNECTED');
    const arrived = await heard(await centre.client(), 'plant/a');

    relay.stop();
    await expect.poll(() => stateIn(two)).toBe('UNREACHABLE');
    const publisher = await line.client();
    const all = Array.from({ length: 1_000 }, (_, index) => String(index));
    await Promise.all(all.map((text) => publisher.publishAsync('plant/a', text, { qos: 1 })));
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    onTestFinished(() => database.end());
    const queued = async () =>
      Number((await database.query('SELECT count(*) AS count FROM messages.log_message')).rows[0].count);
    await expect.poll(queued).toBe(1_000);

    await one.kill();
    rmSync(one.dataDir, { recursive: true });
    await startRelay(centrePort, { at: port });
    await expect.poll(() => arrived.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(1_000);
    expect([...new Set(arrived)]).toEqual(all);
    await expect.poll(queued).toBe(0);

    await two.graphql(DELETE, { input: { brokerId: id } });
    const queues = async () =>
      (await database.query('SELECT FROM messages.log_owner WHERE broker IS NOT NULL')).rowCount;
    await expect.poll(queues).toBe(0);
  });
});
