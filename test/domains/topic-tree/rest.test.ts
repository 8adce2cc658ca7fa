import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { mosquittoWorld, streamWorld } from '../streams/stream-world.ts';
import { listed, publishAll } from './graph/topic-world.ts';

const REVISION_3_0 = { accept: 'application/json;version=3.0' };

test('the topic tree and its TTL are read and changed as documented, in both revisions', async () => {
  const world = await streamWorld('the embedded broker');
  const { service, brokerId, rest } = world;
  const at = `/api/projects/${service.projectId}/brokers/${brokerId}/topictree`;
  const old = (method: string, path: string, body?: unknown) =>
    service.rest(method, path, service.root, body, REVISION_3_0);
  const client = await world.client();
  await listed(world, 0);
  await publishAll(client, { 'plant/2': 'x', 'plant/1': 'x', hall: 'x' });
  await client.subscribeAsync('plant/#');
  await listed(world, 3);

  const tree = await rest('GET', '/topictree');
  expect([tree.status, tree.body]).toEqual([
    200,
    {
      publishTopics: { count: 3, topics: ['hall', 'plant/1', 'plant/2'] },
      subscribeTopics: { count: 1, topics: ['plant/#'] },
      truncated: false,
    },
  ]);
  expect((await rest('GET', '/topictree?offset=1&count=1')).body).toEqual({
    publishTopics: { count: 3, topics: ['plant/1'] },
    subscribeTopics: { count: 1, topics: [] },
    truncated: false,
  });
  expect((await rest('GET', '/topictree?count=0')).body.publishTopics).toEqual({ count: 3, topics: [] });
  const earlier = await old('GET', at);
  expect(earlier.headers.get('content-type')).toContain('version=3.0');
  expect(earlier.body).toEqual({
    publishTopics: { count: 3, topics: ['hall', 'plant/1', 'plant/2'] },
    subscribeTopics: { count: 1, topics: ['plant/#'] },
  });

  expect((await rest('GET', '/topictree/ttl')).body).toEqual({ ttl_sec: 60 });
  const set = await rest('PUT', '/topictree/ttl', { ttl_sec: 7_200 });
  expect([set.status, set.body]).toEqual([204, undefined]);
  expect((await old('GET', `${at}/ttl`)).body).toEqual({ ttl_sec: 7_200 });
  expect((await old('PUT', `${at}/ttl`, { ttl_sec: 7_201 })).status).toBe(204);
  expect((await rest('GET', '/topictree/ttl')).body).toEqual({ ttl_sec: 7_201 });

  const refused = async (method: string, path: string, body?: unknown) => {
    const answer = await rest(method, path, body);
    return [answer.status, answer.body.code, answer.body.info?.issues?.[0]?.path];
  };
  expect(await refused('GET', '/topictree?nodeid=1')).toEqual([400, 'INVALID', 'nodeid']);
  expect(await refused('GET', '/topictree/ttl?nodeid=1')).toEqual([400, 'INVALID', 'nodeid']);
  expect(await refused('PUT', '/topictree/ttl?nodeid=1', { ttl_sec: 1 })).toEqual([400, 'INVALID', 'nodeid']);
  expect(await refused('GET', '/topictree?nodeid=one')).toEqual([400, 'INVALID', 'nodeid']);
  expect(await refused('GET', '/topictree?count=-2')).toEqual([400, 'INVALID', 'count']);
  expect(await refused('PUT', '/topictree/ttl', { ttl_sec: 0 })).toEqual([400, 'INVALID', '/ttl_sec']);
  expect(await refused('PUT', '/topictree/ttl', { ttl_sec: 31_536_001 })).toEqual([400, 'INVALID', '/ttl_sec']);
  expect(await refused('PUT', '/topictree/ttl', { ttl_sec: 60, more: 1 })).toEqual([400, 'INVALID', '/more']);
  const unknown = await old('GET', `${at}?nodeid=1`);
  expect([unknown.status, unknown.body.code]).toEqual([400, 'INVALID']);

  const viewer = (await service.person('VIEWER')).token;
  expect((await service.rest('PUT', `${at}/ttl`, viewer, { ttl_sec: 60 })).status).toBe(204);
  expect((await service.rest('GET', at, viewer)).status).toBe(200);
  expect((await service.rest('GET', at, null)).status).toBe(401);
  const outsider = (await service.person(null)).token;
  expect((await service.rest('GET', at, outsider)).status).toBe(404);
  await service.graphql(
    'mutation ($p: ID!) { updateProject(input: { projectId: $p, hasStrictRoles: true }) { project { id } } }',
    {
      p: service.projectId,
    },
  );
  expect((await service.rest('PUT', `${at}/ttl`, viewer, { ttl_sec: 60 })).status).toBe(403);
});

test('all topics are written page by page, in their order, and each once', async () => {
  const world = await streamWorld('the embedded broker');
  const client = await world.client();
  await listed(world, 0);
  const topics = Array.from({ length: 10_500 }, (_, at) => `plant/${String(at).padStart(5, '0')}/ü"\\`);
  for (const topic of topics) client.publish(topic, 'x', { qos: 0 });
  await client.publishAsync('z', 'x', { qos: 1 });
  await listed(world, topics.length + 1);
  const all = await world.rest('GET', '/topictree');
  expect(all.headers.get('content-length')).toBeNull();
  expect(all.body.publishTopics).toEqual({ count: 10_501, topics: [...topics, 'z'] });
  expect(all.body.subscribeTopics).toEqual({ count: 0, topics: [] });
  expect(all.body.truncated).toBe(false);
  const some = await world.rest('GET', '/topictree?offset=100&count=10300');
  expect(some.body.publishTopics).toEqual({ count: 10_501, topics: topics.slice(100, 10_400) });
});

test('subscriptions that cannot be observed are missing, and a disconnected broker is 503', async () => {
  const mosquitto = await startMosquitto();
  const world = await mosquittoWorld(mosquitto);
  await listed(world, 0);
  await publishAll(await world.client(), { a: 'x' });
  await listed(world, 1);
  expect((await world.rest('GET', '/topictree')).body).toEqual({
    publishTopics: { count: 1, topics: ['a'] },
    truncated: false,
    unavailable: { subscribeTopics: expect.stringContaining('log_type subscribe') },
  });
  const { service, brokerId } = world;
  const path = `/api/projects/${service.projectId}/brokers/${brokerId}/topictree`;
  const earlier = await service.rest('GET', path, service.root, undefined, REVISION_3_0);
  expect(earlier.body).toEqual({ publishTopics: { count: 1, topics: ['a'] } });
  const other = await world.service.rest(
    'POST',
    `/api/projects/${world.service.projectId}/brokers`,
    world.service.root,
    {
      name: 'away',
      url: 'mqtt://127.0.0.1:9',
    },
  );
  const away = await world.service.rest(
    'GET',
    `/api/projects/${world.service.projectId}/brokers/${other.body.id}/topictree`,
  );
  expect([away.status, away.body.code]).toEqual([503, 'BROKER_UNREACHABLE']);
});
