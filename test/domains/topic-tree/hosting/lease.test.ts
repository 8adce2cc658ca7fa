import { describe, expect, test } from 'vitest';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { addBroker, askTopics, keepPayloads, namesOf, recordersAt, statusOf, topicsOf } from './topic-world.ts';

const postgres = usePostgres();

const runsBrokers = async ({ url }: TestService): Promise<boolean> =>
  /^brokergraph_process_brokers 1$/m.test(await (await fetch(`${url}/metrics`)).text());

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('one of two processes records, both serve the topics and the settings, and the other continues when the first closes', async () => {
    const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
    const recorders = await recordersAt(broker);
    const env = { DATABASE_URL: await postgres.createDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const services = [await startTestService({ env }), await startTestService({ env })] as const;
    const id = await addBroker(services[0], broker);
    const { brokers } = services[1].services;
    await expect.poll(() => brokers.visibleIn(services[1].projectId, null)).toHaveLength(1);
    await askTopics(services[1], id, 'setRecording', { ttl: 900, always: true });
    // Either of them records.
    const [recording, other] = (await runsBrokers(services[0])) ? services : services.toReversed();
    if (recording === undefined || other === undefined) throw new Error('there are two services');
    expect([await runsBrokers(recording), await runsBrokers(other)]).toEqual([true, false]);
    expect(await askTopics(other, id, 'getTtl')).toEqual({ ttl: 900 });
    expect(await statusOf(other, id)).toMatchObject({ state: 'RECORDING' });
    const { since } = await statusOf(recording, id);
    expect(await statusOf(other, id)).toMatchObject({ since, isComplete: false });
    expect(recorders.open.size).toBe(1);

    const client = await broker.client();
    await client.publishAsync('plant/a', '17', { qos: 1 });
    await expect.poll(() => topicsOf(other, id)).toMatchObject([{ topic: 'plant/a', payload: { bytes: 2 } }]);
    const wrong = askTopics(other, id, 'findTopics', { kind: 'PUBLISHED', filter: 'a/#/b' });
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID' });
    // Changed by the one that does not record, for the project and for the broker.
    await keepPayloads(other, false);
    await expect.poll(() => topicsOf(recording, id)).toMatchObject([{ topic: 'plant/a', payload: null }]);
    await askTopics(other, id, 'addFilter', { filter: 'plant/#' });
    await client.publishAsync('office/a', '1', { qos: 1 });
    await client.publishAsync('plant/b', '1', { qos: 1 });
    await expect.poll(() => namesOf(recording, id)).toEqual(['plant/a', 'plant/b']);

    await recording.close();
    await expect.poll(() => recorders.open.size).toBe(1);
    await expect.poll(async () => (await statusOf(other, id)).state).toBe('RECORDING');
    const taken = await statusOf(other, id);
    expect(taken).toMatchObject({ isComplete: false });
    expect(taken.since).toBeGreaterThan(since ?? 0);
    for (const topic of ['office/a', 'plant/c']) await client.publishAsync(topic, '17', { qos: 1 });
    await expect.poll(() => topicsOf(other, id)).toMatchObject([{ topic: 'plant/c', payload: null }]);
    expect(await askTopics(other, id, 'getTtl')).toEqual({ ttl: 900 });
  });
});
