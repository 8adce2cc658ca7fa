import { expect, test } from 'vitest';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import { startClient } from '../../support/mosquitto.ts';
import { haWorld } from './ha-world.ts';

test('each node of a high-performance cluster has its own topic tree and TTL, which are returned merged or by node', async () => {
  const { service, nodes, create, graph } = await haWorld();
  const cluster = swapClusterId(await create(3, 'HP'));
  const ask = async (method: string, place: string, body?: unknown) => {
    const path = `/api/projects/${service.projectId}/brokers/${cluster}/topictree${place}`;
    const answer = await service.rest(method, path, service.root, body);
    return { status: answer.status, body: answer.body };
  };
  // Topics are recorded from the first request.
  expect((await ask('GET', '')).status).toBe(200);
  for (const { url, nodeId } of nodes) {
    await (await startClient(url)).publishAsync(`plant/${nodeId}`, 'x', { qos: 1 });
  }
  const counts = async () => {
    const { broker } = await graph('query ($c: ID!) { broker(id: $c) { topicTrees { nodeId count } } }', {
      c: cluster,
    });
    return broker.topicTrees;
  };
  await expect.poll(counts).toEqual([1, 2, 3].map((nodeId) => ({ nodeId, count: 1 })));

  const tree = (nodeId: number) => ({ publishTopics: { count: 1, topics: [`plant/${nodeId}`] }, truncated: false });
  expect(await ask('GET', '')).toMatchObject({ status: 200, body: [tree(1), tree(2), tree(3)] });
  expect(await ask('GET', '?nodeid=2')).toMatchObject({ status: 200, body: tree(2) });
  expect(await ask('GET', '?nodeid=9')).toMatchObject({ status: 400, body: { code: 'INVALID' } });

  expect(await ask('GET', '/ttl')).toEqual({ status: 200, body: { ttls: [60, 60, 60] } });
  expect((await ask('PUT', '/ttl?nodeid=2', { ttl_sec: 300 })).status).toBe(204);
  expect(await ask('GET', '/ttl')).toEqual({ status: 200, body: { ttls: [60, 300, 60] } });
  expect(await ask('GET', '/ttl?nodeid=2')).toEqual({ status: 200, body: { ttl_sec: 300 } });
  expect((await ask('PUT', '/ttl', { ttl_sec: 120 })).status).toBe(204);
  expect(await ask('GET', '/ttl')).toEqual({ status: 200, body: { ttls: [120, 120, 120] } });
});
