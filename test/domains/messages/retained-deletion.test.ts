import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker, KINDS, messageWorld } from './message-world.ts';
import { acl, DELETION, deleteRetained, retain, retained, SLOW, serviceAccount, topicsOf } from './retained-world.ts';

const watched = (service: TestService, brokerId: string, token = service.root) =>
  subscribe(
    service,
    token,
    `subscription ($b: ID!) { retainedDeletion(brokerId: $b) { kind deletion { ${DELETION} } } }`,
    { b: brokerId },
  );

const remaining = async (world: Parameters<typeof retained>[0]) =>
  (await retained(world)).nodes.map(({ topic }: { topic: string }) => topic);

for (const kind of KINDS) {
  test(`a branch and single topics are deleted at ${kind}, after a dry run that deletes nothing`, async () => {
    const world = await messageWorld(kind);
    const { service, brokerId } = world;
    await retain(world.publisher, ['plant/1', 'plant/2', 'plant/2/deep', 'plants', 'x/1', 'x/2'], 'kept');
    const progress = watched(service, brokerId);
    await progress.until(
      ({ retainedDeletion: { kind: event, deletion } }) => event === 'SNAPSHOT' && deletion === null,
    );

    expect(await deleteRetained(world, { filter: 'plant/#', dryRun: true })).toMatchObject({
      state: 'DONE',
      isDryRun: true,
      total: 3,
      wouldDeleteCount: 3,
      deletedCount: 0,
      isComplete: true,
      results: expect.arrayContaining([{ topic: 'plant/2/deep', status: 'WOULD_DELETE', error: null }]),
    });
    expect(await remaining(world)).toHaveLength(6);
    expect(await deleteRetained(world, { filter: 'plant/#' })).toMatchObject({
      state: 'DONE',
      filter: 'plant/#',
      total: 3,
      deletedCount: 3,
      isComplete: true,
      interruptions: 0,
      problem: null,
    });
    expect(await remaining(world)).toEqual(['plants', 'x/1', 'x/2']);
    const given = await deleteRetained(world, { topics: ['x/1', 'x/none', 'x/1', 'plants'] });
    expect(given).toMatchObject({ total: 3, deletedCount: 2, notFoundCount: 1, isComplete: true });
    expect(given.results).toEqual([
      { topic: 'x/none', status: 'NOT_FOUND', error: null },
      { topic: 'x/1', status: 'DELETED', error: null },
      { topic: 'plants', status: 'DELETED', error: null },
    ]);
    expect(await remaining(world)).toEqual(['x/2']);
    expect(await deleteRetained(world, { filter: 'none/#' })).toMatchObject({
      state: 'DONE',
      total: 0,
      isComplete: true,
    });

    const done = ({ deletion }: { deletion: { state: string; filter: string | null } }) => deletion.state === 'DONE';
    await progress.until(
      ({ retainedDeletion }) => done(retainedDeletion) && retainedDeletion.deletion.filter === 'none/#',
    );
    progress.end();
    const entries = await service.storage.db.auditEntry.findMany({ where: { operation: 'deleteRetainedMessages' } });
    expect(entries.map(({ after }) => JSON.parse(after ?? '').outcome)).toEqual([
      'DONE: 3 would be deleted',
      'DONE: 3 of 3 deleted',
      'DONE: 2 of 3 deleted',
      'DONE: 0 of 0 deleted',
    ]);
  });
}

test('lesser roles and invalid input are refused, and a second deletion while one runs', async () => {
  const world = await messageWorld('Mosquitto');
  const { service } = world;
  const input = { filter: 'a/#' };
  const viewer = (await service.person('VIEWER')).token;
  expect(await deleteRetained(world, input, (await service.person('EDITOR')).token)).toMatchObject({ state: 'DONE' });
  expect((await deleteRetained(world, input, viewer)).code).toBe('NOT_ALLOWED');
  expect((await deleteRetained(world, { ...input, dryRun: true }, viewer)).code).toBe('NOT_ALLOWED');
  expect((await deleteRetained(world, input, (await service.person(null)).token)).code).toBe('NOT_FOUND');
  const refused = watched(service, world.brokerId, viewer);
  await expect(refused.until(() => true)).rejects.toBeTruthy();
  for (const [path, wrong] of [
    ['input', {}],
    ['input', { filter: 'a', topics: ['a'] }],
    ['input.filter', { filter: 'a/#/b' }],
    ['input.filter', { filter: '$SYS/#' }],
    ['input.filter', { filter: '$CONTROL/#' }],
    ['input.topics', { topics: [] }],
    ['input.topics', { topics: topicsOf(1_001) }],
    ['input.topics.1', { topics: ['a', 'a/+'] }],
    ['input.topics.0', { topics: ['$SYS/broker/version'] }],
  ] as const) {
    expect(await deleteRetained(world, wrong), path).toMatchObject({ code: 'INVALID', info: { issues: [{ path }] } });
  }
  world.mosquitto?.suspend();
  const first = deleteRetained(world, input);
  const second = deleteRetained(world, input);
  const isInUse = async (one: Promise<{ code?: string }>) => (await one).code === 'IN_USE';
  await expect.poll(async () => Promise.race([isInUse(first), isInUse(second)])).toBe(true);
  world.mosquitto?.resume();
  await Promise.all([first, second]);
});

test('what the broker refuses is reported with the rule, and stays', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const commands = serviceAccount([
    ...['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((type) => acl(type, 'open/#')),
    ...['publishClientReceive', 'subscribePattern'].map((type) => acl(type, '#')),
  ]);
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, { username: 'service', password: 'p' });
  const world = { service, brokerId };
  const device = await mosquitto.client({ username: 'device', password: 'p' });
  await retain(device, ['open/a', 'closed/a', 'closed/b'], 'x');
  const report = await deleteRetained(world, { filter: '#' });
  expect(report).toMatchObject({ state: 'DONE', total: 3, deletedCount: 1, refusedCount: 2, isComplete: true });
  expect(report.results[0]).toMatchObject({
    status: 'REFUSED',
    error: {
      code: 'NOT_ALLOWED',
      info: { decision: { reason: 'DEFAULT', defaultAclType: 'publishClientSend' }, username: 'service' },
    },
  });
  expect(await remaining(world)).toEqual(['closed/a', 'closed/b']);
});

test('a deletion continues after the broker was restarted, and its report is true', async () => {
  const mosquitto = await startMosquitto({ lines: [SLOW] });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  const world = { service, brokerId };
  const topics = topicsOf(10_000);
  await retain(await mosquitto.client(), topics, 'x');
  const progress = watched(service, brokerId);
  await progress.until(() => true);
  const deletion = deleteRetained(world, { filter: 'plant/#' });
  await progress.until(({ retainedDeletion }) => retainedDeletion.deletion?.state === 'DELETING');
  await mosquitto.kill();
  await progress.until(({ retainedDeletion }) => retainedDeletion.deletion?.state === 'WAITING');
  await mosquitto.start();
  // Without persistence all messages are gone; one is published again.
  await retain(await mosquitto.client(), ['plant/0/device0/state'], 'again');
  const report = await deletion;
  expect(report).toMatchObject({ state: 'DONE', total: 10_000, isComplete: true });
  expect(report.interruptions).toBeGreaterThanOrEqual(1);
  expect(report.deletedCount + report.remainingCount).toBe(10_000);
  expect(await remaining(world)).toHaveLength(report.remainingCount);
});
