import { describe, expect, test } from 'vitest';
import {
  createStream,
  getStream,
  listStreams,
  modifyStream,
  STREAM_API,
} from '../../../../src/data-plane/streams/control/stream-control.ts';
import { DEFAULT_DEFINITION } from '../../../../src/data-plane/streams/model/stream-definition.ts';
import { SolePlacement } from '../../../../src/protocol/hosting/placement/placement.ts';
import { openTestStorage } from '../../../support/database.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { endLeaseSessions } from '../../../support/postgres-client.ts';
import { addBroker, startStreams } from '../control/stream-world.ts';

const postgres = usePostgres();
const fast = { ...DEFAULT_DEFINITION, name: 'fast', sourceTopic: 'plant/+', targetTopic: 'fast' };

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('a process that loses its database connection stops its streams, and another process continues without a request', async () => {
    const databaseUrl = await postgres.createDatabase();
    const broker = await startMosquitto();
    const storage = await openTestStorage({ databaseUrl });
    const one = await startStreams({ url: broker.url, storage });
    const { brokerId } = one;
    await createStream(one.controls, fast);
    const two = await startStreams({ url: broker.url, storage: await openTestStorage({ databaseUrl }), brokerId });
    expect((await getStream(two.controls, 'fast')).definition).toEqual(fast);
    await modifyStream(two.controls, 'fast', { ttl: 7 });
    await expect.poll(() => one.streamCache.of(brokerId).byName('fast')?.definition.ttl).toBe(7);
    await expect.poll(() => two.streamCache.of(brokerId).byName('fast')?.definition.ttl).toBe(7);
    await expect(
      createStream(two.controls, { ...fast, name: 'b', sourceTopic: 'fast', targetTopic: 'plant/b' }),
    ).rejects.toMatchObject({ code: 'INVALID', info: { issues: [{ path: '/targetTopic' }] } });
    // Events of the streams of the other process arrive here, too.
    await modifyStream(one.controls, 'fast', { active: false });
    const inactive = expect.objectContaining({ state: 'INACTIVE' });
    await expect
      .poll(() => two.events)
      .toContainEqual(expect.objectContaining({ streamname: 'fast', report: inactive }));
    await modifyStream(one.controls, 'fast', { active: true });
    expect(one.engines.running).toBe(1);
    expect(two.engines.running).toBe(0);

    // The other one takes it while the first one is not back.
    await endLeaseSessions(databaseUrl);
    await expect.poll(() => one.engines.closed).toBe(1);
    expect((await listStreams(two.controls)).items).toMatchObject([{ definition: { name: 'fast' } }]);
    await expect.poll(() => one.engines.running + two.engines.running).toBe(1);
    await expect.poll(async () => (await getStream(one.controls, 'fast')).report?.state).toBe('RUNNING');
    expect([...one.faults, ...two.faults]).toEqual([]);
    await expect.poll(() => storage.db.hostedCall.count()).toBe(0);
  });

  test('a lease holder that does not respond causes BROKER_TIMEOUT, and no row remains', async () => {
    const databaseUrl = await postgres.createDatabase();
    const broker = await startMosquitto();
    const silent = await openTestStorage({ databaseUrl });
    const brokerId = await addBroker(silent);
    expect(await new SolePlacement(silent.leases).want(brokerId, () => undefined).attempt()).toBe(true);
    const storage = await openTestStorage({ databaseUrl });
    const { controls } = await startStreams({ url: broker.url, storage, brokerId, timeoutMs: 500 });
    await expect(createStream(controls, fast)).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
    await expect(
      controls.call(STREAM_API, 'createStream', { streamname: 'x'.repeat(1_000_001) }),
    ).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await expect.poll(() => storage.db.hostedCall.count()).toBe(0);
    await silent.close();
    await expect
      .poll(() =>
        createStream(controls, fast).then(
          () => null,
          // An attempt that took too long may have created it.
          ({ code }) => (code === 'ALREADY_EXISTS' ? null : code),
        ),
      )
      .toBeNull();
  });
});
