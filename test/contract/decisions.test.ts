import { expect, test } from 'vitest';
import { createSelfSigned } from '../support/certificates.ts';
import { ADMIN, startMosquitto } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';

/** What docs/rest-compatibility.md states about requests that the interface document leaves open. */

type Ask = (method: string, path: string, body?: unknown, token?: string) => Promise<readonly [number, unknown]>;

/** Returns the status and the code of the error, or the body. */
const asking =
  (service: TestService): Ask =>
  async (method, path, body, token = service.root) => {
    const at = path.startsWith('/api') ? path : `/api/projects/${service.projectId}${path}`;
    const answer = await service.rest(method, at, token, body);
    return [answer.status, answer.body?.code ?? answer.body];
  };

const idOf = ([status, body]: readonly [number, unknown]): string => {
  expect(status).toBe(200);
  return (body as { id: string }).id;
};

test('brokers require a url, bodies and queries have no unknown keys', async () => {
  const ask = asking(await startTestService());
  expect(await ask('POST', '/brokers', {})).toEqual([400, 'INVALID']);
  expect(await ask('POST', '/brokers', { name: 'plant' })).toEqual([400, 'INVALID']);
  const at = `/brokers/${idOf(await ask('POST', '/brokers', { url: 'mqtt://127.0.0.1:9', password: 'very secret' }))}`;
  expect(await ask('PUT', at, {})).toEqual([204, undefined]);
  expect(await ask('PUT', at, { id: 'brk_1' })).toEqual([400, 'INVALID']);
  expect(await ask('GET', `${at}?verbose=true`)).toEqual([400, 'INVALID']);
  for (const path of ['/brokers', at, '/settings', `${at}/info`]) {
    expect(JSON.stringify(await ask('GET', path)), path).not.toContain('very secret');
  }
  expect(await ask('GET', `${at}/streams`)).toEqual([503, 'BROKER_UNREACHABLE']);
});

test('project tokens do not create or delete tokens', async () => {
  const service = await startTestService();
  const ask = asking(service);
  const path = `/api/projects/${service.projectId}/tokens`;
  const { body } = await service.rest('POST', path, service.root, { name: 'admin', role: 'admin' });
  expect(await ask('POST', '/tokens', { name: 'other', role: 'viewer' }, body.token)).toEqual([403, 'NOT_ALLOWED']);
  expect(await ask('DELETE', `/tokens/${body.id}`, undefined, body.token)).toEqual([403, 'NOT_ALLOWED']);
  expect(await ask('DELETE', `/tokens/${body.id}`)).toEqual([200, { success: true }]);
  expect(await ask('DELETE', `/tokens/${body.id}`)).toEqual([404, 'NOT_FOUND']);
});

test('users: unknown ones are 404, unknown addresses 400, other callers 403', async () => {
  const service = await startTestService();
  const ask = asking(service);
  expect(await ask('DELETE', '/api/users/usr_none')).toEqual([404, 'NOT_FOUND']);
  for (const method of ['PUT', 'DELETE']) {
    expect(await ask(method, '/api/users/admins?email=none@example.com')).toEqual([400, 'INVALID']);
  }
  const admin = (await service.person('ADMIN')).token;
  expect(await ask('GET', '/api/users', undefined, admin)).toEqual([403, 'NOT_ALLOWED']);
  expect(await ask('DELETE', '/api/users/admins?email=root@example.com')).toEqual([400, 'LAST_ADMINISTRATOR']);
  const stranger = (await service.person(null)).token;
  expect(await ask('GET', '/api/projects', undefined, stranger)).toEqual([200, []]);
  expect(await ask('DELETE', '/clusters', undefined, stranger)).toEqual([404, 'NOT_FOUND']);
  expect(await ask('DELETE', '/clusters', undefined, admin)).toEqual([207, []]);
});

test('certificates and clients that are requested by name are 404 if they do not exist', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const ask = asking(service);
  const { id: brokerId } = await service.storage.db.broker.findFirstOrThrow();
  const { cert, key } = createSelfSigned();
  const added = { filename: 'a.pem', cert: cert + key };
  const id = idOf(await ask('POST', '/certificates', added));
  const listed = [{ id, name: 'a.pem', filename: 'a.pem', brokers: [] }];
  expect(await ask('GET', '/certificates?filename=a.pem')).toEqual([200, listed]);
  expect(await ask('GET', '/certificates?filename=b.pem')).toEqual([404, 'NOT_FOUND']);
  expect(await ask('GET', `/certificates?filename=a.pem&brokerId=${brokerId}`)).toEqual([404, 'NOT_FOUND']);
  expect(await ask('POST', '/certificates', added)).toEqual([400, 'ALREADY_EXISTS']);
  expect(await ask('GET', `/brokers/${brokerId}/clients?username=none`)).toEqual([404, 'NOT_FOUND']);
  const single = await ask('GET', `/brokers/${brokerId}/clients?username=admin&count=0&filterMode=none`);
  expect(single).toMatchObject([200, [{ username: 'admin' }]]);
});

test('streams accept `replace` without effect and `key`; the status of a bridge is an array', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const ask = asking(service);
  const at = `/brokers/${(await service.storage.db.broker.findFirstOrThrow()).id}`;
  const stream = { streamname: 's', sourceTopic: 'in', targetTopic: 'out', key: 'k', textname: 'S' };
  expect(await ask('POST', `${at}/streams`, stream)).toEqual([204, undefined]);
  const change = { streamname: 's', replace: true, key: null, ttl: 60 };
  expect(await ask('PUT', `${at}/streams`, change)).toEqual([204, undefined]);
  expect(await ask('GET', `${at}/streams`)).toMatchObject([200, [{ targettopic: 'out', textname: 'S', ttl: 60 }]]);
  expect(await ask('GET', `${at}/bridges/mqtt-bridge/status`)).toEqual([200, []]);
});

test('a cluster of two has no leave, and its brokers and its entry are not deleted', async () => {
  const service = await startTestService();
  const ask = asking(service);
  const nodes: { readonly broker_id: string; readonly url: string }[] = [];
  for (const nodeid of [1, 2]) {
    const { url } = await startMosquitto({ access: 'dynsec' });
    const broker_id = idOf(await ask('POST', '/brokers', { url, ...ADMIN }));
    const node = { broker_id, url, nodeid, name: `node ${nodeid}`, address: `10.0.0.${nodeid}`, port: 7000 };
    nodes.push(node);
  }
  const cluster = { clustername: 'plant', syncmode: 'dynsec', nodes };
  const other = nodes.map((node) => ({ ...node, username: 'other' }));
  expect(await ask('POST', '/clusters', { ...cluster, nodes: other })).toEqual([400, 'INVALID']);
  const id = idOf(await ask('POST', '/clusters', cluster));
  for (const brokerId of [id, nodes[0]?.broker_id]) {
    expect(await ask('DELETE', `/brokers/${brokerId}`)).toEqual([400, 'IN_USE']);
  }
  expect(await ask('PUT', `/clusters/${id}/leave`, {})).toEqual([400, 'INVALID']);
  expect(await ask('PUT', `/clusters/${id}/leave`, { nodeid: 2 })).toEqual([400, 'IN_USE']);
  expect(await ask('DELETE', `/clusters/${id}?clustername=hall`)).toEqual([400, 'INVALID']);
  expect(await ask('DELETE', `/clusters/${id}?clustername=plant`)).toEqual([200, { success: true }]);
});
