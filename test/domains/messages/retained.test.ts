import { expect, test } from 'vitest';
import { cursorAt } from '../../support/cursors.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker, KINDS, messageWorld } from './message-world.ts';
import { acl, retain, retained, serviceAccount, topicsOf } from './retained-world.ts';

for (const kind of KINDS) {
  test(`retained messages of ${kind} are listed in pages, with their fields`, async () => {
    const world = await messageWorld(kind);
    const client = await world.client({ protocolVersion: 5 });
    const properties = { contentType: 'text/plain', messageExpiryInterval: 600 };
    await client.publishAsync('plant/b', 'zwei', { retain: true, qos: 2, properties });
    await client.publishAsync('plant/a', Buffer.from([0xff, 0]), { retain: true, qos: 1 });
    await client.publishAsync('plant/ü', 'Strauß', { retain: true, qos: 0 });
    await client.publishAsync('elsewhere/B', 'x', { retain: true, qos: 1 });
    await client.publishAsync('plant/gone', 'x', { retain: true, qos: 1 });
    await client.publishAsync('plant/gone', '', { retain: true, qos: 1 });
    await client.publishAsync('plant/live', 'x', { qos: 1 });

    const all = await retained(world, { bytes: 6 });
    expect(all).toMatchObject({
      totalCount: 4,
      completeness: 'COMPLETE',
      pageInfo: { hasNextPage: false, hasPreviousPage: false, endCursor: cursorAt('RetainedMessage', 'plant/ü') },
    });
    const none = { contentType: null, expiresAt: null, isPayloadTruncated: false };
    expect(all.nodes).toEqual([
      { ...none, topic: 'elsewhere/B', payload: 'x', payloadBase64: 'eA==', payloadBytes: 1, qos: 1 },
      { ...none, topic: 'plant/a', payload: null, payloadBase64: '/wA=', payloadBytes: 2, qos: 1 },
      {
        topic: 'plant/b',
        payload: 'zwei',
        payloadBase64: 'endlaQ==',
        payloadBytes: 4,
        isPayloadTruncated: false,
        qos: 2,
        contentType: 'text/plain',
        expiresAt: expect.any(String),
      },
      {
        ...none,
        topic: 'plant/ü',
        payload: 'Strau',
        payloadBase64: Buffer.from('Strauß').subarray(0, 6).toString('base64'),
        payloadBytes: 7,
        isPayloadTruncated: true,
        qos: 0,
      },
    ]);
    expect(Date.parse(all.nodes[2].expiresAt) - Date.now()).toBeGreaterThan(500_000);

    const topics = async (variables: object) =>
      (await retained(world, variables)).nodes.map(({ topic }: { topic: string }) => topic);
    expect(await topics({ f: 'plant/+' })).toEqual(['plant/a', 'plant/b', 'plant/ü']);
    expect(await topics({ f: 'plant/b' })).toEqual(['plant/b']);
    expect(await topics({ s: 'b' })).toEqual(['elsewhere/B', 'plant/b']);
    expect(await topics({ f: 'nothing/#' })).toEqual([]);
    expect(await topics({ f: '$SYS/broker/version' })).toEqual(['$SYS/broker/version']);
    expect(await retained(world, { n: 2 })).toMatchObject({
      totalCount: 4,
      nodes: [{ topic: 'elsewhere/B' }, { topic: 'plant/a' }],
      pageInfo: { hasNextPage: true, endCursor: cursorAt('RetainedMessage', 'plant/a') },
    });
    expect(await retained(world, { n: 2, a: cursorAt('RetainedMessage', 'plant/a') })).toMatchObject({
      nodes: [{ topic: 'plant/b' }, { topic: 'plant/ü' }],
      pageInfo: { hasNextPage: false, hasPreviousPage: true },
    });
  });
}

test('many retained messages are read completely, page by page, while others read too', async () => {
  const world = await messageWorld('Mosquitto');
  const topics = topicsOf(3_000);
  await retain(world.publisher, topics, Buffer.alloc(2_000, 'x'));
  const sorted = topics.toSorted();
  const pages = await Promise.all(
    [0, 500, 1_000].map((at) => retained(world, { n: 500, a: cursorAt('RetainedMessage', sorted[at] ?? '') })),
  );
  for (const [index, page] of pages.entries()) {
    expect(page).toMatchObject({ totalCount: 3_000, completeness: 'COMPLETE', pageInfo: { hasNextPage: true } });
    const from = index * 500 + 1;
    expect(page.nodes.map(({ topic }: { topic: string }) => topic)).toEqual(sorted.slice(from, from + 500));
    expect(page.nodes.every(({ payloadBytes }: { payloadBytes: number }) => payloadBytes === 2_000)).toBe(true);
  }
});

test('payloads require what topic trees require, the list EDITOR, and invalid arguments are refused', async () => {
  const world = await messageWorld('Mosquitto');
  const { service } = world;
  await world.publisher.publishAsync('a', 'secret', { retain: true, qos: 1 });
  const editor = (await service.person('EDITOR')).token;
  expect(await retained(world, {}, editor)).toMatchObject({ nodes: [{ topic: 'a', payload: 'secret' }] });
  expect((await retained(world, {}, (await service.person('VIEWER')).token)).code).toBe('NOT_ALLOWED');
  expect((await retained(world, {}, (await service.person(null)).token)).code).toBe('NOT_FOUND');
  await service.services.projects.update(service.projectId, { topicPayloads: false });
  expect(await retained(world, {}, editor)).toMatchObject({
    nodes: [{ topic: 'a', payload: null, payloadBase64: null, payloadBytes: 6, qos: 1 }],
  });

  for (const [path, variables] of [
    ['filter', { f: 'a/#/b' }],
    ['filter', { f: '$share/g/a' }],
    ['filter', { f: '$CONTROL/#' }],
    ['search', { s: '' }],
    ['first', { n: 0 }],
    ['first', { n: 501 }],
    ['after', { a: '' }],
    ['maxPayloadBytes', { bytes: -1 }],
    ['maxPayloadBytes', { bytes: 65_537 }],
    ['maxPayloadBytes', { n: 500, bytes: 65_536 }],
  ] as const) {
    expect(await retained(world, variables), path).toMatchObject({ code: 'INVALID', info: { issues: [{ path }] } });
  }
  expect(await retained(world, { n: 500, bytes: 8_388 })).toMatchObject({ totalCount: 1 });
});

test('a filter that the account may not subscribe to is refused with the rule; a readable one is listed', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const literal = [acl('subscribeLiteral', 'open/#'), acl('publishClientReceive', 'open/#')];
  const commands = [
    ...serviceAccount(literal),
    { command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: false }] },
  ];
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const device = await mosquitto.client({ username: 'device', password: 'p' });
  await retain(device, ['open/a'], 'x');
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, { username: 'service', password: 'p' });
  const world = { service, brokerId };
  expect(await retained(world, { f: 'closed/#' })).toMatchObject({
    code: 'NOT_ALLOWED',
    info: { action: 'SUBSCRIBE', topic: 'closed/#', username: 'service', decision: { reason: 'DEFAULT' } },
  });
  // The account may subscribe to the filter only, and not to the topic.
  expect(await retained(world, { f: 'open/#' })).toMatchObject({
    totalCount: 1,
    nodes: [{ topic: 'open/a', payload: null, payloadBytes: null, qos: null }],
  });
});
