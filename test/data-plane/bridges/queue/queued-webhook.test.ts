import { describe, expect, onTestFinished, test } from 'vitest';
import { startWebhookBridge } from '../../../../src/data-plane/bridges/webhook/webhook-bridge.ts';
import { LogDatabase } from '../../../../src/data-plane/log/postgresql/postgresql-logs.ts';
import { openTestStorage } from '../../../support/database.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bridgeOptions, publishAll, runBridge } from '../sink/running-bridge.ts';
import { startEndpoint } from '../webhook/endpoint.ts';

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('an endpoint gets what another process has queued, in several pages, in order, and what comes meanwhile', async () => {
    const databaseUrl = await postgres.createDatabase();
    const { db } = await openTestStorage({ databaseUrl });
    await db.project.create({ data: { id: 'prj_1', name: 'p' } });
    await db.broker.create({ data: { id: 'plant', projectId: 'prj_1', type: 'SELF_HOSTED', name: 'b' } });
    const mosquitto = await startMosquitto();
    let isUp = true;
    const endpoint = await startEndpoint(() => (isUp ? 200 : 503));
    const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
    const config = { connections: [{ name: 'hook', url: endpoint.url, secret, topics: ['plant/#'] }] };
    const run = () => {
      const database = new LogDatabase({ databaseUrl, onProblem: () => undefined, onLost: () => undefined });
      onTestFinished(() => database.close());
      const options = { ...bridgeOptions('webhook-bridge', mosquitto.url, temporaryFolder()), database };
      return runBridge(startWebhookBridge, options, config);
    };
    const messages = Array.from({ length: 4_000 }, (_, index) => [`plant/${index}`, `${index}`] as const);
    const one = await run();
    const client = await mosquitto.client();
    await one.until(({ state }) => state === 'CONNECTED');
    isUp = false;
    await publishAll(client, messages.slice(0, 3_500));
    await one.until(({ queuedMessages }) => queuedMessages === 3_500);
    await one.bridge.close({ discard: false });

    isUp = true;
    const two = await run();
    await publishAll(client, messages.slice(3_500));
    await expect.poll(() => endpoint.taken.length, { timeout: 60_000 }).toBe(4_000);
    const topics = endpoint.taken.map(({ topic }) => topic);
    expect(topics).toEqual(messages.map(([topic]) => topic));
    expect(new Set(endpoint.taken.map(({ id }) => id)).size).toBe(4_000);
    await expect.poll(() => two.status().queuedMessages).toBe(0);
  });
});
