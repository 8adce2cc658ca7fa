import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connectAsync } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { apiRoutes } from '../../src/app/api-routes.ts';
import { schema } from '../../src/app/schema.ts';
import { roleOf } from '../../src/gateway/rest/route-role.ts';
import { ERROR } from '../../src/gateway/rest/schemas.ts';
import { createValidator } from '../../src/platform/text/json-schema.ts';
import { startCommercialCertificates } from '../domains/certificates/commercial-certificates.ts';
import { addBroker, meter, startCommercialBroker } from '../domains/clients/graph/commercial-broker.ts';
import { type HaBroker, haWorld } from '../domains/clusters/ha-world.ts';
import { createAuthority, createSelfSigned } from '../support/certificates.ts';
import { ADMIN, startMosquitto } from '../support/mosquitto.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const ajv = createValidator();
const isError = ajv.compile(ERROR);

/** Checks a response against the documented schema of its route. */
function expectDocumented(method: string, template: string, { status, body }: { status: number; body: unknown }): void {
  const route = apiRoutes.find((entry) => entry.method === method && entry.path === template);
  if (!route) throw new Error(`${method} ${template} is not served`);
  expect(status, JSON.stringify(body)).toBe(route.status ?? 200);
  if (route.status === 204) {
    expect(body).toBeUndefined();
    return;
  }
  const validate = ajv.compile(route.response ?? {});
  validate(body);
  expect(validate.errors ?? [], JSON.stringify(body)).toEqual([]);
}

const PROJECT = '/api/projects/{projectId}';
const BROKERS = `${PROJECT}/brokers`;
const BROKER = `${BROKERS}/{brokerId}`;

const fill = (template: string, ids: Readonly<Record<string, string>>) =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none');

/** Sends a request and checks its response. */
const asking =
  (service: TestService, ids: Readonly<Record<string, string>>) =>
  async (method: string, template: string, body?: unknown, query = '') => {
    const answer = await service.rest(method, `${fill(template, ids)}${query}`, service.root, body);
    expectDocumented(method, template, answer);
    return answer;
  };

const embedded = shared(() => startTestService({ embeddedBroker: true }));
const plain = shared(() => startTestService());

test('responses about projects, settings and brokers of all kinds are as documented', async () => {
  const service = await embedded();
  const { projectId } = service;
  const added = await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, {
    name: 'plant',
    description: null,
    url: 'mqtt://127.0.0.1:9',
    username: 'u',
    password: 'very secret',
    verify_ca_cert: false,
    metricsEnabled: false,
    ha: false,
    clustermode: 'full',
  });
  expectDocumented('POST', BROKERS, added);
  const ids = { projectId, brokerId: added.body.id };

  for (const template of ['/api/projects', `${PROJECT}/settings`, BROKERS, BROKER, `${BROKER}/info`]) {
    const answer = await service.rest('GET', fill(template, ids));
    expectDocumented('GET', template, answer);
    expect(JSON.stringify(answer.body)).not.toContain('very secret');
  }
  const list = await service.rest('GET', fill(BROKERS, ids));
  expect(list.headers.get('x-total-count')).toBe('2');
  expect(list.body.map(({ type }: { type: string }) => type).sort()).toEqual(['cloud', 'self-hosted']);
  expect((await service.rest('GET', fill(BROKER, ids))).body).toMatchObject({
    id: ids.brokerId,
    type: 'self-hosted',
    project_id: projectId,
    description: null,
    isConnected: false,
  });

  expectDocumented('PUT', BROKER, await service.rest('PUT', fill(BROKER, ids), service.root, { name: 'hall' }));
  expect((await service.rest('GET', fill(BROKER, ids))).body.name).toBe('hall');
  expectDocumented('DELETE', BROKER, await service.rest('DELETE', fill(BROKER, ids)));
  const gone = await service.rest('GET', fill(BROKER, ids));
  expect([gone.status, gone.body.code]).toEqual([404, 'NOT_FOUND']);
});

test('responses about clients of a broker are as documented, in full and by name', async () => {
  const service = await embedded();
  const { projectId, report } = service;
  const [broker] = (await service.rest('GET', fill(BROKERS, { projectId }))).body;
  const { mqtt } = report;
  if (!mqtt) throw new Error('The embedded broker did not start');
  const client = await connectAsync(mqtt.url, {
    clientId: 'meter/7 ü',
    username: mqtt.username,
    password: readFileSync(mqtt.passwordFile, 'utf8').trim(),
    will: { topic: 'gone', payload: Buffer.from('bye'), qos: 1 },
  });
  onTestFinished(() => client.endAsync(true).then(() => undefined));
  await client.subscribeAsync('plant/#', { qos: 1 });
  const ids = { projectId, brokerId: broker.id };
  const inspect = fill(`${BROKER}/client-inspect`, ids);

  const list = await service.rest('GET', `${inspect}?filterValue=meter&filterMode=contains`);
  expectDocumented('GET', `${BROKER}/client-inspect`, list);
  expect(list.body).toMatchObject([{ clientid: 'meter/7 ü', protocol: 'MQTT', connected: true, lastDisconnect: null }]);
  const names = await service.rest('GET', `${inspect}?verbose=false&filterValue=meter`);
  expectDocumented('GET', `${BROKER}/client-inspect`, names);
  expect(names.body).toEqual(['meter/7 ü']);

  const detail = await service.rest('GET', `${inspect}/detail?clientid=${encodeURIComponent('meter/7 ü')}`);
  expectDocumented('GET', `${BROKER}/client-inspect/detail`, detail);
  expect(detail.body).toMatchObject({ clientid: 'meter/7 ü', subscriptions: ['plant/#'] });
  const none = await service.rest('GET', `${inspect}/detail?clientid=nobody`);
  expect([none.status, none.body.code]).toEqual([404, 'NOT_FOUND']);
  const license = await service.rest('GET', fill(`${BROKER}/license`, ids));
  expectDocumented('GET', `${BROKER}/license`, license);
});

test('responses about client control and client details are as documented', async () => {
  const broker = await startCommercialBroker();
  broker.clients.set('m1', meter('m1'));
  const service = await plain();
  const ids = { projectId: service.projectId, brokerId: await addBroker(service, broker.url) };
  const put = async (path: string, body: unknown) => {
    const template = `${BROKER}/client-control${path}`;
    const answer = await service.rest('PUT', fill(template, ids), service.root, body);
    expectDocumented('PUT', template, answer);
    return answer.body;
  };
  await put('/subscribe', { clientid: 'm1', topic: 'a/#', qos: 1, options: { no_local: true, send_retain: 'null' } });
  await put('/unsubscribe', { clientid: 'm1', topic: 'a/#' });
  const detail = `${BROKER}/client-inspect/detail`;
  const answer = await service.rest('GET', `${fill(detail, ids)}?clientid=m1`);
  expectDocumented('GET', detail, answer);
  expect(answer.body).toEqual(meter('m1'));
  expect(await put('/disconnect', { clientid: 'm1' })).toEqual({});
});

test.each(['Mosquitto', 'the embedded broker'])(
  'responses about access control of %s are as documented',
  async (kind) => {
    const service = await (kind === 'Mosquitto' ? plain() : embedded());
    const { projectId } = service;
    const added =
      kind === 'Mosquitto'
        ? await service.rest('POST', fill(BROKERS, { projectId }), service.root, {
            url: (await startMosquitto({ access: 'dynsec' })).url,
            ...ADMIN,
          })
        : { body: await service.storage.db.broker.findFirstOrThrow() };
    const asked = asking(service, { projectId, brokerId: added.body.id });
    const ask = (method: string, path: string, ...more: readonly [body?: unknown, query?: string]) =>
      asked(method, BROKER + path, ...more);
    await ask('POST', '/roles', { rolename: 'r', textname: null, textdescription: 'd' });
    const acl = { acltype: 'subscribePattern', topic: 'a/#', priority: 1, allow: true };
    await ask('PUT', '/roles', { rolename: 'r', textname: 'R', acls: [acl] });
    await ask('POST', '/groups', { groupname: 'g', textname: 'G', textdescription: 'd' });
    await ask('POST', '/clients', { username: 'u', password: 'p', groups: [{ groupname: 'g' }], roles: [] });
    await ask('POST', '/clients', { username: 'bare', clientid: null, groups: null });
    await ask('PUT', '/clients', { username: 'u', textname: 'U', roles: [{ rolename: 'r' }] });
    await ask('PUT', '/groups', { groupname: 'g', clients: [{ username: 'bare' }], roles: [{ rolename: 'r' }] });
    await ask('PUT', '/clients/enable', { username: 'u', enable: false });
    await ask('PUT', '/acldefault', [{ acltype: 'publishClientSend', allow: false }]);
    for (const list of ['/clients', '/groups', '/roles']) {
      expect((await ask('GET', list)).body.length).toBeGreaterThan(0);
      expect((await ask('GET', list, undefined, '?verbose=false')).body).toEqual(
        expect.arrayContaining([expect.any(String)]),
      );
      expect((await ask('GET', list, undefined, '?filterValue=nothing+like+it')).body).toEqual([]);
    }
    expect((await ask('GET', '/clients', undefined, '?username=u')).body).toMatchObject([{ username: 'u' }]);
    await ask('GET', '/acldefault');
    await ask('DELETE', '/clients', undefined, '?username=u');
    await ask('DELETE', '/groups', undefined, '?groupname=g');
    await ask('DELETE', '/roles', undefined, '?rolename=r');
  },
);

test.each(['Mosquitto', 'the embedded broker'])(
  'responses about streams and topics of %s are as documented',
  async (kind) => {
    const service = await (kind === 'Mosquitto' ? plain() : embedded());
    const { projectId } = service;
    const added =
      kind === 'Mosquitto'
        ? await service.rest('POST', fill(BROKERS, { projectId }), service.root, { url: (await startMosquitto()).url })
        : { body: await service.storage.db.broker.findFirstOrThrow() };
    const asked = asking(service, { projectId, brokerId: added.body.id });
    const ask = async (method: string, path: string, ...more: readonly [body?: unknown, query?: string]) =>
      (await asked(method, BROKER + path, ...more)).body;
    const query = { select: [{ source: '[a]', target: '[a]' }] };
    const labels = { textname: 'S', textdescription: 'd', key: 'k' };
    const stream = { streamname: 's', sourceTopic: 'in', targetTopic: 'out', targetqos: 1, ttl: 60, query, ...labels };
    await ask('POST', '/streams', stream);
    await ask('POST', '/streams', { streamname: 'bare', sourceTopic: 'in' });
    const change = {
      sourcetopic: 'in/#',
      targettopic: 'out/s',
      replace: true,
      persist: true,
      active: true,
      process: true,
    };
    await ask('PUT', '/streams', { streamname: 's', ...change, targetqos: -1, ttl: 0, query: {}, ...labels });
    expect((await ask('GET', '/streams')).map(Object.keys)).toEqual([
      expect.arrayContaining(['streamname', 'sourcetopic', 'targettopic', 'textname', 'textdescription', 'replaying']),
      expect.not.arrayContaining(['targettopic', 'textname', 'key', 'state']),
    ]);
    expect(await ask('GET', '/streams', undefined, '?offset=1&count=-1&verbose=false')).toEqual(['bare']);
    expect(await ask('GET', '/streams', undefined, '?offset=2')).toEqual([]);
    const replay = { streamname: 's', replayTopic: 'r', gte: '', lte: '', reverse: false, limit: -1, speed: 1 };
    await ask('PUT', '/streams/replay', replay);
    await ask('DELETE', '/streams/messages', undefined, '?streamname=s');
    await ask('DELETE', '/streams', undefined, '?streamname=s');

    await ask('PUT', '/topictree/ttl', { ttl_sec: 120 });
    expect(await ask('GET', '/topictree/ttl')).toEqual({ ttl_sec: 120 });
    for (const page of ['', '?offset=1&count=-1', '?count=0']) await ask('GET', '/topictree', undefined, page);
  },
);

test('responses about certificates and listeners are as documented', async () => {
  const broker = await startCommercialCertificates();
  const service = await plain();
  const { projectId } = service;
  const brokerId = await addBroker(service, broker.url);
  const ids: Record<string, string> = { projectId, brokerId };
  const asked = asking(service, ids);
  const ask = async (...request: Parameters<typeof asked>) => (await asked(...request)).body;
  const [list, one] = [`${PROJECT}/certificates`, `${PROJECT}/certificates/{certificateId}`];
  const server = createSelfSigned();
  await ask('POST', list, { name: 'Server', filename: 'server.pem', cert: server.cert + server.key });
  const { id } = await ask('POST', list, { filename: 'ca.pem', cert: createAuthority().cert });
  ids.certificateId = id;
  await ask('PUT', one, { name: 'Authority' });
  await ask('PUT', one, { filename: 'authority.pem', cert: createAuthority().cert });
  const listeners = [{ port: 8883, bindAddress: '0.0.0.0' }, { port: 8884 }, { port: 1 }];
  const brokers = [
    { brokerId, listeners },
    { brokerId: 'none', listeners },
  ];
  expect(await ask('POST', `${one}/deploy`, { brokers })).toMatchObject([
    { brokerId, succeed: listeners.slice(0, 2), failed: [{ port: 1 }] },
    { brokerId: 'none', error: expect.any(String), succeed: [], failed: [{}, {}, {}] },
  ]);
  expect((await ask('GET', list)).map(({ filename }: { filename: string }) => filename)).toEqual([
    'server.pem',
    'authority.pem',
  ]);
  expect(await ask('GET', list, undefined, `?brokerId=${brokerId}&filename=authority.pem`)).toEqual([
    {
      id,
      name: 'Authority',
      filename: 'authority.pem',
      brokers: [{ id: brokerId, name: expect.any(String), ha: false }],
    },
  ]);
  expect(await ask('GET', `${BROKER}/listeners`)).toHaveLength(6);
  await ask('POST', `${one}/undeploy`, { brokers });
  await ask('DELETE', one);
});

test('responses about clusters are as documented, with all nodes and with missing nodes', async () => {
  const { service, nodes } = await haWorld(4);
  const ids: Record<string, string> = { projectId: service.projectId };
  const asked = asking(service, ids);
  const ask = async (...request: Parameters<typeof asked>) => (await asked(...request)).body;
  const [list, one] = [`${PROJECT}/clusters`, `${PROJECT}/clusters/{clusterId}`];
  const node = ({ brokerId, url, nodeId }: HaBroker) => ({
    broker_id: brokerId,
    url,
    nodeid: nodeId,
    name: `node ${nodeId}`,
    address: `10.0.0.${nodeId}`,
    port: 7000,
  });
  const cluster = { clustername: 'plant', syncmode: 'hp', nodes: nodes.slice(0, 3).map(node) };
  ids.clusterId = (await ask('POST', list, cluster)).id;
  const [first, , , fourth] = nodes.map(node);
  await ask('PUT', `${one}/join`, fourth);
  await ask('PUT', `${one}/leave`, { nodeid: 4 });
  const whole = [await ask('GET', list), await ask('GET', one), await ask('GET', `${list}/status`)];
  expect(whole[2][0].nodes[0].raft).toMatchObject({ state: 'leader', role: 'voter', commit_index: 96 });
  await nodes[2]?.stop();
  nodes[1]?.answers.set('getRaftStatus', { data: {} });
  await expect.poll(async () => (await ask('GET', one)).nodes[2].connected).toBe(false);
  for (const template of [list, `${list}/status`]) await ask('GET', template);
  expect(await ask('DELETE', list)).toMatchObject([{ status: 503, success: false }]);
  expect(await ask('DELETE', one, undefined, '?clustername=plant&purge=true')).toEqual({ success: false });
  nodes[1]?.answers.clear();
  const third = { ...first, ...(fourth && { ...fourth, nodeid: 3 }) };
  await ask('POST', list, { ...cluster, nodes: [...cluster.nodes.slice(0, 2), third] });
  expect(await ask('DELETE', list, undefined, '?purge=true')).toMatchObject([{ status: 200, success: true }]);
});

test('responses about tokens are as documented', async () => {
  const service = await plain();
  const { projectId } = service;
  const brokerId = (
    await service.rest('POST', fill(BROKERS, { projectId }), service.root, { url: 'mqtt://127.0.0.1:9' })
  ).body.id as string;
  const ids: Record<string, string> = { projectId };
  const ask = asking(service, ids);
  const [list, one] = [`${PROJECT}/tokens`, `${PROJECT}/tokens/{tokenId}`];
  const body = { name: 'reader', role: 'editor', brokers: [brokerId], type: 'restricted', valid_date: '2099-12-31' };
  const { body: made } = await ask('POST', list, body);
  expect(made).toMatchObject({
    project_id: projectId,
    role_id: 'editor',
    issuer: 'root@example.com',
    valid_date: Date.parse('2099-12-31T23:59:59.999Z'),
    brokers: [brokerId],
    type: 'restricted',
    token: expect.stringMatching(/^bgp_/),
  });
  expect(made.hash).toBe(createHash('sha256').update(made.token).digest('hex'));
  expect(Math.abs(made.issue_date - Date.now())).toBeLessThan(120_000);
  expect(made.last_used_date).toBeNull();
  const endless = { name: 'all', role: 'viewer', brokers: [], type: 'unrestricted', valid_date: null };
  expect((await ask('POST', list, endless)).body).toMatchObject({ valid_date: null, last_used_date: null });
  const end = Date.parse('2099-06-01T12:00:00Z');
  for (const valid_date of [String(end), '2099-06-01T14:00:00+02:00']) {
    const { body: other } = await ask('POST', list, { name: 'till', role: 'viewer', valid_date });
    expect(other.valid_date).toBe(end);
    await service.services.tokens.revoke(other.id);
  }
  await service.rest('GET', fill(BROKERS, ids), made.token);
  ids.tokenId = made.id;
  // Written after the response.
  await expect
    .poll(async () => (await ask('GET', list)).body[0].last_used_date)
    .toBeGreaterThanOrEqual(made.issue_date);
  const told = await ask('GET', list);
  const { token: _, last_used_date: __, ...rest } = made;
  expect(told.body).toMatchObject([rest, { role_id: 'viewer', brokers: [], type: 'unrestricted' }]);
  expect(told.headers.get('x-total-count')).toBe('2');
  expect(JSON.stringify(told.body)).not.toContain('bgp_');
  expect((await ask('POST', `${one}/rotate`, { overlap_seconds: 60 })).body).toMatchObject({ id: made.id });
  expect((await ask('DELETE', one)).body).toEqual({ success: true });
  expect((await service.rest('DELETE', fill(one, ids))).status).toBe(404);
});

test('responses about users and root administrators are as documented', async () => {
  const service = await plain();
  const ids: Record<string, string> = {};
  const ask = asking(service, ids);
  const [list, one, admins] = ['/api/users', '/api/users/{userId}', '/api/users/admins'];
  const ada = {
    firstname: 'Ada',
    lastname: 'Lovelace',
    email: 'Ada@example.com',
    password: 'a long secret',
    verified: true,
  };
  ids.userId = (await ask('POST', list, ada)).body.id;
  await ask('POST', list, { ...ada, email: 'sso@example.com', ssoType: 'sso' });
  await ask('POST', list, { email: 'bare@example.com', ssoType: 'ldap' });
  expect(await service.login('ada@example.com', 'a long secret')).toMatch(/^bgs_/);
  expect((await ask('GET', one)).body).toEqual({
    id: ids.userId,
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    trial_flow: false,
    project_count: 0,
    broker_count: 0,
    monthly_revenue: 0,
    yearly_revenue: 0,
    total_revenue: 0,
    onboarding: 0,
    bookings: null,
  });
  const page = await ask('GET', list, undefined, '?page=1&pageSize=2&sortField=email&sortOrder=desc');
  expect(page.body).toMatchObject({ total: 4, page: 1, pageSize: 2, sortField: 'email', sortOrder: 'desc' });
  expect(page.body.data.map(({ email }: { email: string }) => email)).toEqual(['bare@example.com', 'ada@example.com']);
  expect(page.headers.get('x-total-count')).toBe('4');
  expect((await ask('GET', list)).body).toMatchObject({
    page: 0,
    pageSize: 50,
    sortField: 'created_at',
    sortOrder: 'asc',
  });

  expect((await ask('GET', admins)).body).toMatchObject({ total: 1, roots: [{ isRemovable: false }] });
  await ask('PUT', admins, undefined, '?email=ada%40example.com');
  expect((await ask('GET', admins, undefined, '?page=0&pageSize=10')).body.roots).toEqual([
    expect.objectContaining({ email: 'root@example.com', isRemovable: true }),
    { id: ids.userId, name: 'Ada Lovelace', email: 'ada@example.com', isRemovable: true },
  ]);
  await ask('DELETE', admins, undefined, '?email=ada%40example.com');
  const refusal = async (method: string, path: string, body?: unknown) => {
    const answer = await service.rest(method, path, service.root, body);
    expect(isError(answer.body)).toBe(true);
    return [answer.status, answer.body.code];
  };
  expect(await refusal('DELETE', `${admins}?email=root%40example.com`)).toEqual([400, 'LAST_ADMINISTRATOR']);
  expect(await refusal('PUT', `${admins}?email=nobody%40example.com`)).toEqual([400, 'INVALID']);
  expect(await refusal('PUT', admins)).toEqual([400, 'INVALID']);
  expect(await refusal('POST', list, ada)).toEqual([400, 'ALREADY_EXISTS']);
  expect(await refusal('POST', list, { ...ada, password: 'short' })).toEqual([400, 'INVALID']);
  expect(await refusal('GET', `${list}?pageSize=1001`)).toEqual([400, 'INVALID']);
  expect(await refusal('GET', `${list}?page=-1`)).toEqual([400, 'INVALID']);
  await ask('DELETE', one);
  expect(await refusal('GET', fill(one, ids))).toEqual([404, 'NOT_FOUND']);
  expect(await refusal('DELETE', fill(one, ids))).toEqual([404, 'NOT_FOUND']);
});

test('every route is refused without credentials, if not visible and below its role, and allowed at its role', async () => {
  const service = await plain();
  const { projectId } = service;
  const { body } = await service.rest('POST', fill(BROKERS, { projectId }), service.root, {
    url: 'mqtt://127.0.0.1:9',
  });
  const ids = { projectId, brokerId: body.id as string };
  const [viewer, editor, stranger] = [
    await service.person('VIEWER'),
    await service.person('EDITOR'),
    await service.person(null),
  ];
  const expectRefused = refusalsOf(service);
  const tokens: Readonly<Record<string, string>> = {
    SIGNED_IN: stranger.token,
    VIEWER: viewer.token,
    EDITOR: editor.token,
    ADMIN: (await service.person('ADMIN')).token,
    ROOT_ADMIN: service.root,
  };
  for (const route of apiRoutes) {
    const { method, path } = route;
    const role = roleOf(route, schema);
    const url = fill(path, ids);
    await expectRefused(method, url, null, 401, 'UNAUTHORIZED');
    await expectRefused(method, url, 'not a token', 401, 'UNAUTHORIZED');
    if (path.startsWith(PROJECT)) await expectRefused(method, url, stranger.token, 404, 'NOT_FOUND');
    if (role === 'EDITOR' || role === 'ADMIN') await expectRefused(method, url, viewer.token, 403, 'NOT_ALLOWED');
    if (role === 'ADMIN') await expectRefused(method, url, editor.token, 403, 'NOT_ALLOWED');
    if (role === 'ROOT_ADMIN') await expectRefused(method, url, editor.token, 403, 'NOT_ALLOWED');
    // Deleting the broker would affect the following routes.
    const allowed = method === 'DELETE' ? fill(path, { ...ids, brokerId: 'none' }) : url;
    const answer = await service.rest(method, allowed, tokens[role], method === 'GET' ? undefined : {});
    expect([401, 403], `${method} ${url} as ${role}`).not.toContain(answer.status);
  }
});

test('a broker of another project is not found, and nothing happens to it', async () => {
  const service = await plain();
  const { projectId } = service;
  const { body } = await service.rest('POST', fill(BROKERS, { projectId }), service.root, {
    url: 'mqtt://127.0.0.1:9',
  });
  const other = await service.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }');
  const ids = { projectId: other.data.createProject.project.id as string, brokerId: body.id as string };
  const expectRefused = refusalsOf(service);
  for (const { method, path } of apiRoutes) {
    if (path.includes('{brokerId}')) await expectRefused(method, fill(path, ids), service.root, 404, 'NOT_FOUND');
  }
  expect((await service.rest('GET', fill(BROKER, { ...ids, projectId }))).status).toBe(200);
});

const refusalsOf =
  (service: TestService) =>
  async (method: string, url: string, token: string | null, status: number, code: string): Promise<void> => {
    const answer = await service.rest(method, url, token, method === 'GET' ? undefined : {});
    expect([answer.status, answer.body?.code], `${method} ${url}`).toEqual([status, code]);
    expect(isError(answer.body)).toBe(true);
  };
