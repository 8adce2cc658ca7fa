import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { dynsecDone } from '../../data-plane/broker/dynsec.ts';
import { createAuthority } from '../../support/certificates.ts';
import { temporaryFolder, useSqlite } from '../../support/database.ts';
import { ADMIN, mosquittoVersion, startClient, startMosquitto } from '../../support/mosquitto.ts';
import { startRefusingRelay } from '../../support/refusing-relay.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { subscribe } from '../../support/subscription.ts';

/** For tests that look at their own broker only. */
const running = shared(() => startTestService());

const STATUS =
  'subscription ($id: ID!) { brokerStatus(projectId: $id) { kind sequence brokers { brokerId isConnected isRemoved connection { state lastError } } } }';

async function addBroker({ rest, projectId, root }: TestService, body: object): Promise<string> {
  const answer = await rest('POST', `/api/projects/${projectId}/brokers`, root, body);
  expect(answer.status).toBe(200);
  return answer.body.id;
}

/** Follows the project until the broker is in this state. Returns the last error. */
async function reached(service: TestService, brokerId: string, state: string): Promise<string | null> {
  const events = subscribe(service, service.root, STATUS, { id: service.projectId });
  let lastError: string | null = null;
  await events.until(({ brokerStatus }) =>
    brokerStatus.brokers.some(
      (broker: { brokerId: string; connection: { state: string; lastError: string | null } }) => {
        lastError = broker.connection.lastError;
        return broker.brokerId === brokerId && broker.connection.state === state;
      },
    ),
  );
  events.end();
  return lastError;
}

test('the brokers of a project are filtered and sorted, with pages in each order', async () => {
  const service = await startTestService();
  const { graphql, projectId } = service;
  const mosquitto = await startMosquitto();
  const connected = await addBroker(service, { name: 'plant B', url: mosquitto.url });
  for (const name of ['Plant c', 'plant a', 'office'])
    await addBroker(service, { name, url: 'mqtt://127.0.0.1:1', description: name === 'office' ? 'Not a PLANT' : 'x' });
  await reached(service, connected, 'CONNECTED');
  const LIST = `query ($p: ID!, $filter: BrokerFilter, $orderBy: BrokerOrder, $first: Int, $after: String) {
    project(id: $p) { brokers(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
      totalCount nodes { name } pageInfo { endCursor }
    } }
  }`;
  const list = async (variables: object) => (await graphql(LIST, { p: projectId, ...variables })).data.project.brokers;
  const names = async (variables: object) => (await list(variables)).nodes.map(({ name }: { name: string }) => name);
  const orderBy = (field: string, order = 'ASC') => ({ orderBy: { field, order } });

  expect(await names({})).toEqual(['plant B', 'Plant c', 'plant a', 'office']);
  expect(await names(orderBy('CREATED_AT', 'DESC'))).toEqual(['office', 'plant a', 'Plant c', 'plant B']);
  expect(await names(orderBy('NAME'))).toEqual(['office', 'plant a', 'plant B', 'Plant c']);
  expect(await names(orderBy('IS_CONNECTED', 'DESC'))).toEqual(['plant B', 'Plant c', 'plant a', 'office']);
  expect(await names({ filter: { search: 'PLANT' }, ...orderBy('NAME', 'DESC') })).toEqual([
    ...['Plant c', 'plant B', 'plant a', 'office'],
  ]);
  expect(await names({ filter: { search: 'plant ', isConnected: false } })).toEqual(['Plant c', 'plant a']);
  expect(await names({ filter: { isConnected: true } })).toEqual(['plant B']);
  expect(await names({ filter: { type: 'CLOUD' } })).toEqual([]);
  expect(await names({ filter: { isCluster: false, type: 'SELF_HOSTED' } })).toHaveLength(4);
  const first = await list({ filter: { search: 'x' }, ...orderBy('NAME'), first: 1 });
  expect(first).toMatchObject({ totalCount: 2, nodes: [{ name: 'plant a' }] });
  const { endCursor: after } = first.pageInfo;
  expect(await names({ filter: { search: 'x' }, ...orderBy('NAME'), first: 1, after })).toEqual(['Plant c']);
  const { errors } = await graphql(LIST, { p: projectId, ...orderBy('CREATED_AT'), after });
  expect(errors?.[0]?.extensions.code).toBe('INVALID');
});

test('the brokers with the most urgent problems and the most clients come first', async () => {
  const service = await startTestService();
  const { graphql, projectId } = service;
  const [quiet, busy] = [await startMosquitto(), await startMosquitto()];
  await addBroker(service, { name: 'quiet', url: quiet.url });
  await addBroker(service, { name: 'busy', url: busy.url });
  await addBroker(service, { name: 'away', url: 'mqtt://127.0.0.1:1' });
  for (const nth of [1, 2, 3]) await startClient(busy.url, { clientId: `dev-${nth}` });
  const LIST = `query ($p: ID!, $filter: BrokerFilter, $orderBy: BrokerOrder) {
    project(id: $p) { brokers(filter: $filter, orderBy: $orderBy) { nodes { name } } }
  }`;
  const names = async (variables: object): Promise<string[]> => {
    const { data } = await graphql(LIST, { p: projectId, ...variables });
    return data.project.brokers.nodes.map(({ name }: { name: string }) => name);
  };
  const orderBy = (field: string) => ({ orderBy: { field, order: 'DESC' } });
  await expect
    .poll(() => names(orderBy('CLIENTS')), { timeout: 60_000, interval: 250 })
    .toEqual(['busy', 'quiet', 'away']);
  await expect
    .poll(() => names({ filter: { hasProblems: true }, ...orderBy('PROBLEMS') }), { timeout: 60_000, interval: 250 })
    .toContain('away');
  expect((await names(orderBy('PROBLEMS')))[0]).toBe('away');
  expect(await names({ filter: { hasProblems: false } })).not.toContain('away');
  expect(await names(orderBy('MESSAGES_IN'))).toHaveLength(3);
});

test('a broker is added, read, changed and removed by REST, and the graph agrees', async () => {
  const service = await startTestService();
  const { rest, graphql, projectId, root } = service;
  const at = `/api/projects/${projectId}/brokers`;
  const id = await addBroker(service, {
    name: 'plant',
    description: 'Line 1',
    url: 'mqtt://127.0.0.1:1',
    username: 'u',
    password: 'secret-1',
    verify_ca_cert: false,
  });

  const { body } = await rest('GET', `${at}/${id}`);
  expect(body).toEqual({
    type: 'self-hosted',
    id,
    name: 'plant',
    project_id: projectId,
    ha: false,
    created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    url: 'mqtt://127.0.0.1:1',
    verify_ca_cert: false,
    description: 'Line 1',
    isConnected: false,
  });
  expect((await rest('GET', at)).body).toEqual([body]);

  expect((await rest('PUT', `${at}/${id}`, root, { name: 'plant 2', description: null })).status).toBe(204);
  const { data } = await graphql(
    'query ($id: ID!) { broker(id: $id) { __typename name description username url project { id } } }',
    { id },
  );
  expect(data.broker).toEqual({
    __typename: 'SelfHostedBroker',
    name: 'plant 2',
    description: null,
    username: 'u',
    url: 'mqtt://127.0.0.1:1',
    project: { id: projectId },
  });

  expect((await rest('DELETE', `${at}/${id}`)).status).toBe(204);
  expect((await rest('GET', `${at}/${id}`)).status).toBe(404);
  expect((await rest('DELETE', `${at}/${id}`)).status).toBe(404);
});

test('the three kinds of brokers have exactly the documented fields', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const { rest, graphql, projectId } = service;
  await addBroker(service, { name: 'own', url: 'mqtt://127.0.0.1:1' });
  await graphql('mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }', {
    input: {
      projectId,
      type: 'ON_PREMISE_SETUP',
      name: 'site',
      issuedTo: 'ACME',
      productId: 'p-1',
      periodStart: '2026-01-01T00:00:00.000Z',
    },
  });
  const { services } = (await rest('GET', `/api/projects/${projectId}/settings`)).body;
  const [cloud, selfHosted, onPremise] = services;
  const common = ['created_at', 'ha', 'id', 'name', 'project_id', 'type', 'updated_at'];
  const product = 'canceled_at issued_to payment_subscription_item_id period_end period_start product_id'.split(' ');
  const connection = ['url', 'verify_ca_cert'];
  const cloudOnly = 'deployed_at location options shutdown_at state subdomain target_state zone_name'.split(' ');
  expect(Object.keys(cloud).sort()).toEqual([...common, ...product, ...connection, ...cloudOnly].sort());
  expect(Object.keys(selfHosted).sort()).toEqual([...common, ...connection].sort());
  expect(Object.keys(onPremise).sort()).toEqual([...common, ...product].sort());
  expect(cloud).toMatchObject({ type: 'cloud', state: 'active', target_state: 'active', location: 'fsn1' });
  expect(onPremise).toMatchObject({
    type: 'on-premise-setup',
    issued_to: 'ACME',
    product_id: 'p-1',
    period_start: '2026-01-01T00:00:00.000Z',
    period_end: null,
  });
});

test('no secret of a broker is returned or stored in plain text', async () => {
  const service = await running();
  const secret = 'planted-secret-4711';
  const id = await addBroker(service, { name: 'b', url: 'mqtt://127.0.0.1:1', username: 'u', password: secret });
  const row = await service.storage.db.broker.findUniqueOrThrow({ where: { id } });
  expect(JSON.stringify(row)).not.toContain(secret);
  const answers = [
    await service.rest('GET', `/api/projects/${service.projectId}/brokers/${id}`),
    await service.rest('GET', `/api/projects/${service.projectId}/settings`),
    await service.rest('GET', `/api/projects/${service.projectId}/brokers/${id}/info`),
  ];
  expect(JSON.stringify(answers)).not.toContain(secret);
});

test('bad connection settings are refused with every path and reason, and nothing is written', async () => {
  const service = await startTestService();
  const { rest, projectId, root, storage } = service;
  const at = `/api/projects/${projectId}/brokers`;
  const refuse = async (body: object) => {
    const answer = await rest('POST', at, root, body);
    expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'INVALID']);
    return answer.body.info.issues as { path: string; reason: string }[];
  };
  expect((await refuse({ name: 'x' })).map(({ path }) => path)).toEqual(['/url']);
  expect((await refuse({ name: '', url: '' })).length).toBe(2);
  expect(
    (await refuse({ url: 'ftp://host', ca_cert: 'no certificate', client_key: 'no key here' })).map(({ path }) => path),
  ).toEqual(['/url', '/ca_cert', '/client_key']);
  const { leaf, key } = createAuthority();
  const cert = { client_cert: `${leaf}${key}`, client_key: key };
  const [issue] = await refuse({ url: 'mqtts://host', ...cert });
  expect(issue).toEqual({ path: '/client_cert', reason: 'contains a PRIVATE KEY, which is not a certificate' });
  const large = createAuthority({ key: 'rsa-8256' });
  const material = { ca_cert: leaf + large.leaf, client_cert: large.leaf, client_key: large.key };
  const oversize = expect.stringMatching(/has a key of 8\d+ bits: at most 8192 are allowed$/);
  expect(await refuse({ url: 'mqtts://host', ...material })).toEqual(
    Object.keys(material).map((name) => ({ path: `/${name}`, reason: oversize })),
  );
  await refuse({ url: 'mqtt://user:secret@host' });
  for (const url of ['mqtt://host:0', 'mqtts://host/path', 'mqtt://host?x', 'ws://host/mqtt#x']) await refuse({ url });
  await refuse({ url: 'mqtt://host', ca_cert_file: '/etc/passwd' });
  await refuse({ url: 5 });
  await refuse({ url: 'mqtt://host', colour: 'red' });
  expect(await storage.db.broker.count()).toBe(0);
});

test('files are read only below the configured folder', async () => {
  const filesDir = temporaryFolder();
  mkdirSync(join(filesDir, 'certs'));
  symlinkSync('/etc', join(filesDir, 'out'));
  writeFileSync(join(filesDir, 'certs/ca.pem'), 'x');
  const { rest, projectId, root } = await startTestService({ env: { BROKER_FILES_DIR: filesDir } });
  const add = async (file: string) =>
    (
      await rest('POST', `/api/projects/${projectId}/brokers`, root, {
        name: 'b',
        url: 'mqtts://127.0.0.1:1',
        ca_cert_file: file,
      })
    ).status;
  expect(await add('certs/ca.pem')).toBe(200);
  expect(await add('../x')).toBe(400);
  expect(await add('out/passwd')).toBe(400);
  expect(await add('/etc/passwd')).toBe(400);
  expect(await add('certs/none.pem')).toBe(400);
});

test('a file with a private key that is too large, or is none, is not used', async () => {
  const filesDir = temporaryFolder();
  writeFileSync(join(filesDir, 'large.pem'), createAuthority({ key: 'rsa-8256' }).key);
  writeFileSync(join(filesDir, 'none.pem'), 'x');
  const service = await startTestService({ env: { BROKER_FILES_DIR: filesDir } });
  const errorOf = async (file: string) => {
    const id = await addBroker(service, { name: file, url: 'mqtts://127.0.0.1:1', client_key_file: file });
    return reached(service, id, 'UNREACHABLE');
  };
  expect(await errorOf('large.pem')).toMatch(/"large\.pem" has a key of 8\d+ bits: at most 8192 are allowed/);
  expect(await errorOf('none.pem')).toMatch('"none.pem" must be a private key in PEM, without a passphrase');
});

test('a Mosquitto that is added with user name and password is connected, and its restart is reported', async () => {
  const mosquitto = await startMosquitto({ access: 'passwords' });
  const service = await startTestService();
  const id = await addBroker(service, { name: 'm', url: mosquitto.url, ...ADMIN });
  await reached(service, id, 'CONNECTED');
  const events = subscribe(service, service.root, STATUS, { id: service.projectId });
  const state = (wanted: string) =>
    events.until(
      ({ brokerStatus }) => brokerStatus.kind !== 'GAP' && brokerStatus.brokers[0]?.connection.state === wanted,
    );
  await state('CONNECTED');

  await mosquitto.stop();
  await state('UNREACHABLE');

  // Other fields of the query are unaffected while it is down.
  const { data, errors } = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { name isConnected license { plan } } }',
    { id },
  );
  expect(data.broker).toEqual({ name: 'm', isConnected: false, license: null });
  expect(errors).toMatchObject([{ path: ['broker', 'license'], extensions: { code: 'BROKER_UNREACHABLE' } }]);
  const license = await service.rest('GET', `/api/projects/${service.projectId}/brokers/${id}/license`);
  expect([license.status, license.body.code, license.headers.has('retry-after')]).toEqual([
    503,
    'BROKER_UNREACHABLE',
    true,
  ]);

  await mosquitto.start();
  await state('CONNECTED');
});

test('wrong credentials are reported, and correct ones connect', async () => {
  const mosquitto = await startMosquitto({ access: 'passwords' });
  const service = await running();
  const id = await addBroker(service, { name: 'm', url: mosquitto.url, username: ADMIN.username, password: 'wrong' });
  await reached(service, id, 'UNAUTHORIZED');
  await service.rest('PUT', `/api/projects/${service.projectId}/brokers/${id}`, service.root, {
    password: ADMIN.password,
  });
  await reached(service, id, 'CONNECTED');
});

const TEST = `mutation ($i: TestBrokerInput!) { testBroker(input: $i) {
  connection { state lastError } capabilities { api provider reasonCode } deniedFilters
} }`;

test('a connection is tested before it is added, and nothing is stored', async () => {
  const service = await startTestService({ env: { BROKER_ALLOWED_HOSTS: '127.0.0.1' } });
  const { projectId, graphql } = service;
  const [strict, open] = await Promise.all([startMosquitto({ access: 'dynsec' }), startMosquitto()]);
  const weak = { username: 'weak', password: 'a weak password' };
  await dynsecDone(await strict.client(ADMIN), { command: 'createClient', ...weak });
  const test = async (input: object, token = service.root) =>
    await graphql(TEST, { i: { projectId, ...input } }, token);
  const found = async (input: object) => (await test(input)).data.testBroker;

  expect(await found({ url: strict.url, ...ADMIN })).toMatchObject({
    connection: { state: 'CONNECTED', lastError: null },
    capabilities: [{ api: 'dynamic-security', provider: 'BROKER', reasonCode: null }, { api: 'broker' }],
  });
  expect(await found({ url: strict.url, ...weak })).toMatchObject({
    connection: { state: 'CONNECTED' },
    capabilities: [{ provider: 'NONE', reasonCode: 'PERMISSION_MISSING' }, { provider: 'NONE' }],
    deniedFilters: ['$SYS/broker/version', '$SYS/broker/log/#'],
  });
  expect(await found({ url: open.url })).toMatchObject({
    capabilities: [{ provider: 'NONE', reasonCode: 'NO_DYNAMIC_SECURITY' }, { provider: 'NONE' }],
    deniedFilters: [],
  });
  const nothing = { capabilities: [], deniedFilters: [] };
  expect(await found({ url: strict.url, ...weak, password: 'wrong' })).toMatchObject({
    connection: { state: 'UNAUTHORIZED', lastError: expect.any(String) },
    ...nothing,
  });
  expect(await found({ url: 'mqtt://127.0.0.1:1' })).toMatchObject({
    connection: { state: 'UNREACHABLE' },
    ...nothing,
  });

  // The same rules as for a new broker.
  const codeOf = async (input: object, token?: string) => (await test(input, token)).errors?.[0]?.extensions.code;
  const [admin, editor] = [await service.person('ADMIN'), await service.person('EDITOR')];
  expect(await codeOf({})).toBe('INVALID');
  // In bytes of UTF-8, which fewer characters may have.
  for (const name of ['clientId', 'username', 'password']) {
    const issue = { path: `input.${name}`, reason: 'must not exceed 65535 bytes' };
    const { errors } = await test({ url: open.url, [name]: 'é'.repeat(40_000) });
    expect(errors?.[0]?.extensions.info).toMatchObject({ issues: [issue] });
  }
  expect(await codeOf({ url: 'mqtt://broker.example.com' }, admin.token)).toBe('INVALID');
  expect(await codeOf({ url: open.url }, editor.token)).toBe('NOT_ALLOWED');
  expect(await service.storage.db.broker.count({ where: { projectId } })).toBe(0);
  const attempts = await Promise.all(Array.from({ length: 12 }, () => codeOf({})));
  expect(attempts).toContain('RATE_LIMITED');
});

test('TLS with a client certificate works with stored settings', async () => {
  const mosquitto = await startMosquitto({ tls: 'mutual' });
  const { ca, cert, key } = mosquitto.certificates ?? { ca: '', cert: '', key: '' };
  const service = await running();
  const id = await addBroker(service, {
    name: 'tls',
    url: mosquitto.url,
    ca_cert: ca,
    client_cert: cert,
    client_key: key,
  });
  await reached(service, id, 'CONNECTED');
  const without = await addBroker(service, {
    name: 'untrusted',
    url: mosquitto.url,
    client_cert: cert,
    client_key: key,
  });
  await reached(service, without, 'UNREACHABLE');
});

test('broker info has $SYS, licence and connection, and the last known values while the broker is down', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const service = await running();
  const id = await addBroker(service, { name: 'm', url: mosquitto.url, ...ADMIN });
  await reached(service, id, 'CONNECTED');
  const path = `/api/projects/${service.projectId}/brokers/${id}`;
  const read = () => service.rest('GET', `${path}/info`);
  await expect
    .poll(async () => (await read()).body.sysTopics.topics.broker?.version)
    .toBe(`mosquitto version ${mosquittoVersion()}`);
  const { body } = await read();
  expect(body).toMatchObject({ id, url: mosquitto.url, name: 'm', project_id: service.projectId, isConnected: true });
  expect(body.licenseInfo).toMatchObject({
    plan: 'open-source',
    edition: 'mosquitto',
    features: expect.arrayContaining(['dynamic-security']),
    validSince: 0,
    validUntil: 253_402_300_799_999,
  });
  const graph = async () => {
    const fields = 'license { plan validSince validUntil } sysTopics { topics asOf } sysTopicsHistory { asOf }';
    return (await service.graphql(`query ($id: ID!) { broker(id: $id) { ${fields} } }`, { id })).data.broker;
  };
  const { license, sysTopics } = await graph();
  expect(license).toEqual({ plan: 'open-source', validSince: null, validUntil: null });
  expect(sysTopics.topics.broker.version).toBe(`mosquitto version ${mosquittoVersion()}`);
  expect(Math.abs(Date.parse(sysTopics.asOf) - Date.now())).toBeLessThan(60_000);
  const PLUGINS = 'query ($id: ID!) { broker(id: $id) { plugins { name } } }';
  expect(await service.graphql(PLUGINS, { id })).toMatchObject({
    data: { broker: { plugins: null } },
    errors: [{ path: ['broker', 'plugins'], extensions: { code: 'NOT_SUPPORTED_BY_BROKER' } }],
  });
  await mosquitto.stop();
  await reached(service, id, 'UNREACHABLE');
  expect(await graph()).toMatchObject({ license: null, sysTopics: { topics: { broker: {} } } });
  const [{ asOf }] = (await graph()).sysTopicsHistory;
  expect((await read()).body.sysTopicsHistory[0].date).toBe(Date.parse(asOf));
  const down = (await read()).body;
  expect(down).toMatchObject({
    isConnected: false,
    sysTopics: { topics: { broker: { version: `mosquitto version ${mosquittoVersion()}` } } },
    licenseInfo: body.licenseInfo,
  });
  expect((await service.rest('GET', `${path}/license`)).status).toBe(503);
  // With another address the entry is another broker, whose licence is not known.
  await service.rest('PUT', path, service.root, { name: 'm', url: 'mqtt://127.0.0.1:9', ...ADMIN });
  expect('licenseInfo' in (await read()).body).toBe(false);
});

test('broker info tries to connect: all callers share one attempt, and its outcome is reported', async () => {
  const { port } = await startMosquitto();
  const relay = await startRefusingRelay(port);
  const service = await running();
  const id = await addBroker(service, { name: 'm', url: relay.url });
  const path = `/api/projects/${service.projectId}/brokers/${id}/info`;
  const read = async (token = service.root) => {
    const { status, body } = await service.rest('GET', path, token);
    return [status, body.isConnected];
  };
  // Pauses have their full length: the next one is a second.
  const random = vi.spyOn(Math, 'random').mockReturnValue(1);
  onTestFinished(() => random.mockRestore());
  await relay.connections(6);
  expect(await read()).toEqual([200, false]);
  const before = relay.times.length;
  expect(await Promise.all(Array.from({ length: 20 }, () => read()))).toEqual(Array(20).fill([200, false]));
  expect(relay.times.length).toBeLessThanOrEqual(before + 2);
  const { token: stranger } = await service.person(null);
  expect(await read(stranger)).toEqual([404, undefined]);
  relay.isUp = true;
  const { token: viewer } = await service.person('VIEWER');
  expect(await read(viewer)).toEqual([200, true]);
});

test('with 3 of 20 brokers down, 17 respond in full and 3 fields are null with typed errors after the timeout', async () => {
  const mosquitto = await startMosquitto({ access: 'passwords' });
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: '10000' } });
  const dead = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void dead.close());
  const silentPort = (dead.address() as { port: number }).port;
  for (let i = 0; i < 17; i++) await addBroker(service, { name: `up ${i}`, url: mosquitto.url, ...ADMIN });
  // Two that refuse connections, and one that accepts them and then says nothing.
  for (const port of [1, 2, silentPort])
    await addBroker(service, { name: `down ${port}`, url: `mqtt://127.0.0.1:${port}` });

  const { data, errors } = await service.graphql(
    'query ($id: ID!) { project(id: $id) { brokers(first: 50) { totalCount nodes { name license { plan } } } } }',
    { id: service.projectId },
  );
  const { nodes, totalCount } = data.project.brokers;
  expect(totalCount).toBe(20);
  expect(nodes.filter(({ license }: { license: unknown }) => license !== null)).toHaveLength(17);
  expect(nodes.slice(17).map(({ license }: { license: unknown }) => license)).toEqual([null, null, null]);
  expect(errors?.map(({ path }) => path)).toEqual(
    [17, 18, 19].map((i) => ['project', 'brokers', 'nodes', i, 'license']),
  );
  for (const { extensions } of errors ?? [])
    expect(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT']).toContain(extensions.code);
});

test('a stored secret is not sent to another address: it must be given again with the new one', async () => {
  const service = await running();
  const { rest, projectId, root } = service;
  const id = await addBroker(service, {
    name: 'b',
    url: 'mqtts://broker.example.com',
    username: 'u',
    password: 'secret',
  });
  const change = (body: object) => rest('PUT', `/api/projects/${projectId}/brokers/${id}`, root, body);
  for (const url of ['mqtts://evil.example.com', 'mqtts://broker.example.com:9999', 'mqtt://broker.example.com']) {
    const { status, body } = await change({ url });
    expect([url, status, body.info?.issues[0].path]).toEqual([url, 400, '/password']);
  }
  expect((await change({ url: 'mqtts://broker.example.com/', name: 'same place' })).status).toBe(204);
  expect((await change({ url: 'mqtts://other.example.com', password: 'secret' })).status).toBe(204);
  expect((await change({ url: 'mqtts://third.example.com', password: null })).status).toBe(204);
  expect((await change({ url: 'mqtts://fourth.example.com' })).status).toBe(204);

  // Nor to a server that is not checked any more, or by other authorities.
  const [own, other] = [createAuthority().cert, createAuthority().cert];
  expect((await change({ password: 'secret', ca_cert: own })).status).toBe(204);
  for (const trust of [{ verify_ca_cert: false }, { ca_cert: other }, { ca_cert: null }]) {
    const { status, body } = await change(trust);
    expect([trust, status, body.info?.issues[0].path]).toEqual([trust, 400, '/password']);
    expect((await change({ verify_ca_cert: true, ca_cert: own, name: 'as it is' })).status).toBe(204);
    expect((await change({ ...trust, password: 'secret' })).status).toBe(204);
    expect((await change({ verify_ca_cert: true, ca_cert: own, password: 'secret' })).status).toBe(204);
  }
});

// On SQLite, because on PostgreSQL another process may be running it.
test('the service does not connect to the old address of its own broker that does not run', async () => {
  useSqlite();
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir, embeddedBroker: true });
  const broker = await first.storage.db.broker.findFirstOrThrow();
  await first.storage.db.broker.update({ where: { id: broker.id }, data: { state: 'ACTIVE' } });
  const before = first.services.runtimes.status(broker.id).state;
  await first.close();

  const second = await startTestService({ dataDir, embeddedBroker: false });
  const { data } = await second.graphql(
    'query ($id: ID!) { broker(id: $id) { connection { state } ... on CloudBroker { state targetState } } }',
    { id: broker.id },
  );
  expect(before).not.toBe('CLOSED');
  expect(data.broker).toEqual({ connection: { state: 'CLOSED' }, state: 'INACTIVE', targetState: 'ACTIVE' });
});
