import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { type ClusterWorldNode, startNodes } from './cluster-world.ts';

const body = ({ brokerId, broker, nodeId }: ClusterWorldNode) => ({
  broker_id: brokerId,
  url: broker.url,
  nodeid: nodeId,
  name: `node ${nodeId}`,
  address: '127.0.0.1',
  port: 7000 + nodeId,
});

test('the documented REST operations manage clusters', async () => {
  const service = await startTestService();
  const nodes = await startNodes(service, 3);
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('three nodes');
  const path = `/api/projects/${service.projectId}/clusters`;
  const ask = async (method: string, rest = '', sent?: unknown, headers?: Record<string, string>) => {
    const answer = await service.rest(method, `${path}${rest}`, service.root, sent, headers);
    return { status: answer.status, body: answer.body, total: answer.headers.get('x-total-count') };
  };
  const issues = async (method: string, rest: string, sent?: unknown, headers?: Record<string, string>) => {
    const answer = await ask(method, rest, sent, headers);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID', status: 400 } });
    return answer.body.info.issues.map(({ path: place }: { path: string }) => place);
  };
  const plant = { clustername: 'plant', syncmode: 'dynsec', nodes: [body(first), body(second)] };

  // Issues use the names of the request.
  expect(await issues('POST', '', { ...plant, nodes: [body(first), { ...body(second), broker_id: 'none' }] })).toEqual([
    '/nodes/1/broker_id',
  ]);
  expect(await issues('POST', '', { ...plant, clustername: ' ' })).toEqual(['/clustername']);
  expect(await issues('POST', '', { ...plant, nodes: [body(first)] })).toEqual(['/nodes']);
  expect(
    await issues('POST', '', {
      ...plant,
      nodes: [
        { ...body(first), name: ' ', url: second.broker.url, username: 'other', ca_cert_file: 'x.pem', password: 'no' },
        { ...body(second), broker_id: first.brokerId, nodeid: 1 },
      ],
    }),
  ).toEqual([
    '/nodes/0/name',
    '/nodes/0/username',
    '/nodes/0/ca_cert_file',
    '/nodes/0/url',
    '/nodes/0/password',
    '/nodes/1/url',
    '/nodes/1/nodeid',
    '/nodes/1/broker_id',
  ]);
  const { broker_id: _, ...unnamed } = body(second);
  expect(await issues('POST', '', { ...plant, nodes: [body(first), unnamed] })).toEqual(['/nodes/1/broker_id']);
  expect(await issues('POST', '', { ...plant, nodes: [{ ...body(first), client: 1 }, body(second)] })).toEqual([
    '/nodes/0/client',
  ]);
  expect(await issues('POST', '', { ...plant, syncmode: 'half' })).toEqual(['/syncmode']);
  const full = await ask('POST', '', { ...plant, syncmode: 'full' });
  expect([full.status, full.body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
  expect(await ask('GET')).toEqual({ status: 200, body: [], total: '0' });

  const created = await ask('POST', '', plant);
  expect(created).toMatchObject({ status: 200 });
  expect(created.body).toEqual({
    id: expect.stringMatching(/^brk_/),
    url: first.broker.url,
    username: expect.any(String),
    verify_ca_cert: 1,
  });
  const at = `/${created.body.id}`;
  const cluster = {
    id: created.body.id,
    clustername: 'plant',
    syncmode: 'dynsec',
    state: 'active',
    created_at: expect.stringMatching(/Z$/),
    nodes: [first, second].map((node) => ({ ...body(node), connected: true, leader: node === first })),
  };
  expect(await ask('GET', at)).toEqual({ status: 200, body: cluster, total: null });
  expect(await ask('GET')).toEqual({ status: 200, body: [cluster], total: '1' });
  const entry = await service.rest('GET', `/api/projects/${service.projectId}/brokers${at}`);
  expect(entry.body).toMatchObject({ id: created.body.id, name: 'plant', ha: true });

  const status = await ask('GET', '/status');
  const health = (...of: ClusterWorldNode[]) => ({
    id: created.body.id,
    clustername: 'plant',
    status: 200,
    success: true,
    nodes: of.map((node) => ({
      broker_id: node.brokerId,
      nodeid: node.nodeId,
      connected: true,
      leader: node === first,
      lag: 0,
      sync: { state: 'equal', differences: 0, missing_passwords: [], differing_rules: [] },
    })),
  });
  expect(status).toMatchObject({ status: 207, body: [health(first, second)] });

  // A node that is identified only by its address, and invalid nodes.
  expect(await issues('PUT', `${at}/join`, {})).toEqual(['/broker_id']);
  expect(await issues('PUT', `${at}/join`, { broker_id: second.brokerId })).toEqual(['/broker_id']);
  expect(await issues('PUT', `${at}/join`, { broker_id: third.brokerId, nodeid: 2, name: ' ' })).toEqual([
    '/name',
    '/nodeid',
  ]);
  expect(await issues('PUT', `${at}/join`, { broker_id: third.brokerId, password: 'x' })).toEqual(['/password']);
  expect(await ask('PUT', `${at}/join`, { url: third.broker.url })).toMatchObject({ status: 204, body: undefined });
  expect((await ask('GET', at)).body.nodes[2]).toEqual({
    broker_id: third.brokerId,
    url: third.broker.url,
    nodeid: 3,
    name: 'm3',
    address: '127.0.0.1',
    port: 7001,
    connected: true,
    leader: false,
  });
  expect(await ask('PUT', '/brk_none/join', { url: third.broker.url })).toMatchObject({ status: 404 });

  expect(await issues('PUT', `${at}/leave`, {})).toEqual(['/nodeid']);
  expect(await ask('PUT', `${at}/leave`, { nodeid: 9 })).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  expect(await ask('PUT', `${at}/leave`, { nodeid: 2, url: third.broker.url })).toMatchObject({ status: 404 });
  expect(await ask('PUT', `${at}/leave`, { url: third.broker.url })).toMatchObject({ status: 204, body: undefined });
  expect(await ask('PUT', `${at}/leave`, { nodeid: 2 })).toMatchObject({ status: 400, body: { code: 'IN_USE' } });

  // A cluster cannot lose nodes that it needs.
  const brokers = `/api/projects/${service.projectId}/brokers`;
  for (const id of [first.brokerId, created.body.id]) {
    const removed = await service.rest('DELETE', `${brokers}/${id}`);
    expect([removed.status, removed.body.code]).toEqual([400, 'IN_USE']);
  }
  const moved = await service.rest('PUT', `${brokers}${at}`, service.root, { url: 'mqtt://127.0.0.1:1' });
  expect([moved.status, moved.body.info.issues[0].path]).toEqual([400, '/url']);
  expect((await service.rest('DELETE', `${brokers}/${third.brokerId}`)).status).toBe(204);

  const old = { accept: 'application/json;version=3.0' };
  expect(await issues('DELETE', `${at}?purge=true`, undefined, old)).toEqual(['purge']);
  expect(await issues('DELETE', '?purge=true', undefined, old)).toEqual(['purge']);
  expect(await issues('DELETE', `${at}?clustername=other`)).toEqual(['clustername']);
  await second.broker.stop();
  while ((await ask('GET', at)).body.nodes[1].connected);
  const refused = await ask('DELETE', `${at}?clustername=plant`);
  expect(refused).toMatchObject({
    status: 503,
    body: { code: 'BROKER_UNREACHABLE', status: 503, info: { nodes: [{ nodeId: 2 }] } },
  });
  expect((await ask('GET', at)).body).toMatchObject({
    state: 'degraded',
    nodes: [{ connected: true }, { connected: false, error: { code: 'BROKER_UNREACHABLE' } }],
  });
  expect((await ask('DELETE')).body).toMatchObject([
    {
      id: created.body.id,
      status: 503,
      success: false,
      nodes: [
        { nodeid: 1, done: false },
        { nodeid: 2, done: false, error: { code: 'BROKER_UNREACHABLE' } },
      ],
    },
  ]);
  expect(await ask('DELETE', `${at}?clustername=plant&purge=true`)).toMatchObject({
    status: 200,
    body: { success: false },
  });
  expect(await ask('DELETE', at)).toMatchObject({ status: 404 });

  await second.broker.start();
  const isBack = async () => (await service.rest('GET', `${brokers}/${second.brokerId}`)).body.isConnected;
  while (!(await isBack()));
  const again = await ask('POST', '', plant);
  expect((await ask('DELETE', '?purge=false')).body).toEqual([
    {
      id: again.body.id,
      clustername: 'plant',
      status: 200,
      success: true,
      nodes: [first, second].map((node) => ({ broker_id: node.brokerId, nodeid: node.nodeId, done: true })),
    },
  ]);
  expect(await ask('DELETE')).toMatchObject({ status: 207, body: [] });
  expect(await ask('GET', '/status')).toMatchObject({ status: 207, body: [] });
});
