import { X509Certificate } from 'node:crypto';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { certificateWorld } from './certificate-world.ts';
import { startCommercialCertificates } from './commercial-certificates.ts';

const root = createAuthority({ name: 'Factory' });
const server = root.issue({ name: 'broker', altNames: ['DNS:localhost'] });

test('the documented operations have their documented forms', async () => {
  const broker = await startCommercialCertificates();
  const world = await certificateWorld();
  const { service, rest } = world;
  const brokerId = await world.addBroker(broker.url);
  const other = await world.addBroker('mqtt://127.0.0.1:9', 'other');
  const at = `/api/projects/${service.projectId}/certificates`;
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await rest(method, `${at}${path}`, service.root, body);
    return [status, answer];
  };

  const [status, created] = await ask('POST', '', { name: 'Factory', filename: 'ca.pem', cert: root.cert });
  expect([status, created]).toEqual([200, { id: expect.stringMatching(/^crt_/) }]);
  const { id } = created;
  const listed = { id, name: 'Factory', filename: 'ca.pem', brokers: [] as unknown[] };
  expect(await ask('GET', '')).toEqual([200, [listed]]);
  expect(await ask('GET', '?filename=ca.pem')).toEqual([200, [listed]]);
  expect(await ask('GET', '?filename=none')).toMatchObject([404, { code: 'NOT_FOUND' }]);
  expect(await ask('GET', `?brokerId=${brokerId}`)).toEqual([200, []]);
  expect(await ask('GET', `?brokerId=${brokerId}&filename=ca.pem`)).toMatchObject([404, { code: 'NOT_FOUND' }]);
  expect(await ask('GET', '?brokerId=brk_none')).toMatchObject([404, { code: 'NOT_FOUND' }]);
  expect(await ask('GET', '?verbose=false')).toMatchObject([400, { code: 'INVALID' }]);

  expect(await ask('PUT', `/${id}`, { name: 'Plant' })).toEqual([204, undefined]);
  const brokers = [
    { brokerId, listeners: [{ port: 8883 }, { port: 8884, bindAddress: '::' }, { port: 1883 }] },
    { brokerId: other, listeners: [{ port: 8883, bindAddress: '10.0.0.1' }] },
  ];
  const failure = expect.stringContaining('administrators of the project see the reason');
  expect(await ask('POST', `/${id}/deploy`, { brokers })).toEqual([
    200,
    [
      {
        brokerId,
        succeed: [{ port: 8883 }, { port: 8884, bindAddress: '::' }],
        failed: [{ port: 1883, error: 'TLS is not enabled on the listener of port 1883' }],
      },
      {
        brokerId: other,
        error: failure,
        succeed: [],
        failed: [{ port: 8883, bindAddress: '10.0.0.1', error: failure }],
      },
    ],
  ]);
  const deployed = { ...listed, name: 'Plant', brokers: [{ id: brokerId, name: 'plant', ha: false }] };
  expect(await ask('GET', `?brokerId=${brokerId}&filename=ca.pem`)).toEqual([200, [deployed]]);
  expect(await ask('GET', `?brokerId=${other}`)).toEqual([200, []]);
  expect(await ask('PUT', `/${id}`, { name: 'x' })).toMatchObject([400, { code: 'IN_USE' }]);
  expect(await ask('DELETE', `/${id}`)).toMatchObject([400, { code: 'IN_USE' }]);

  const listeners = `/api/projects/${service.projectId}/brokers/${brokerId}/listeners`;
  const told = (await rest('GET', listeners)).body;
  expect(told.slice(0, 3)).toEqual([
    {
      id: 1,
      port: 1883,
      bindAddress: null,
      socketPath: null,
      tls: false,
      protocol: 'mqtt',
      requireCertificate: null,
      certs: [],
    },
    {
      id: 2,
      port: 8883,
      bindAddress: '0.0.0.0',
      socketPath: null,
      tls: true,
      protocol: 'mqtt',
      requireCertificate: true,
      certs: [{ certificate_id: id, name: 'Plant', filename: 'ca.pem' }],
    },
    {
      id: 3,
      port: 8884,
      bindAddress: null,
      socketPath: null,
      tls: true,
      protocol: 'mqtt+websockets',
      requireCertificate: null,
      certs: [{ certificate_id: id, name: 'Plant', filename: 'ca.pem' }],
    },
  ]);
  expect(told.at(-1)).toMatchObject({ port: 0, socketPath: '/run/mosquitto.sock', protocol: 'mqtt' });

  expect(await ask('POST', `/${id}/undeploy`, { brokers: brokers.slice(0, 1) })).toMatchObject([
    200,
    [{ brokerId, succeed: [{ port: 8883 }, { port: 8884 }], failed: [{ port: 1883 }] }],
  ]);
  expect(await ask('DELETE', `/${id}`)).toEqual([204, undefined]);
  expect(await ask('DELETE', `/${id}`)).toMatchObject([404, { code: 'NOT_FOUND' }]);
});

test('issues name the field of the request body', async () => {
  const world = await certificateWorld();
  const { service, rest } = world;
  const at = `/api/projects/${service.projectId}/certificates`;
  const issues = async (method: string, path: string, body: unknown) => {
    const { status, body: answer } = await rest(method, `${at}${path}`, service.root, body);
    expect([status, answer.code]).toEqual([400, 'INVALID']);
    return answer.info.issues.map((issue: { path: string; reason: string }) => `${issue.path}: ${issue.reason}`);
  };
  expect(await issues('POST', '', {})).toEqual(['/filename: is needed', '/cert: is needed']);
  expect(await issues('POST', '', { filename: '', cert: 'short', key: 'k' })).toEqual([
    '/key: is not known here',
    '/filename: must not be empty',
    '/cert: must not have fewer than 10 characters',
  ]);
  expect(await issues('POST', '', { filename: 'a/b', cert: root.cert })).toEqual([
    '/filename: must be a file name without a folder: no / and no \\',
  ]);
  const [told] = await issues('POST', '', { filename: 'a', cert: server.cert });
  expect(told).toMatch(/^\/cert: the private key is missing: /);
  const id = await world.store('ca.pem', root.cert);
  const listener = { port: 8883 };
  expect(await issues('POST', `/${id}/deploy`, { brokers: [] })).toEqual([
    '/brokers: must not have fewer than 1 items',
  ]);
  expect(await issues('POST', `/${id}/deploy`, { brokers: [{ brokerId: 'b', listeners: [] }] })).toHaveLength(1);
  const twice = { brokerId: 'b', listeners: [listener, listener] };
  expect(await issues('POST', `/${id}/deploy`, { brokers: [twice, twice] })).toEqual([
    '/brokers/0/listeners/1: is a duplicate',
    '/brokers/1/brokerId: is a duplicate',
    '/brokers/1/listeners/1: is a duplicate',
  ]);
  expect(await issues('POST', `/${id}/undeploy`, { brokers: [{ ...twice, x: 1 }] })).toEqual([
    '/brokers/0/x: is not known here',
  ]);
});

test('an expired certificate is not deployed, but can be undeployed', async () => {
  const broker = await startCommercialCertificates();
  const world = await certificateWorld();
  const brokers = [{ brokerId: await world.addBroker(broker.url), listeners: [{ port: 8883 }] }];
  const id = await world.store('ca.pem', root.cert);
  await world.deploy(id, brokers);
  const { db, changes } = world.service.storage;
  const day = 86_400_000;
  const [from, to] = [new Date(Date.now() - 9 * day), new Date(Date.now() - day)];
  await db.certificate.update({ where: { id }, data: { cert: createAuthority({ from, to }).cert } });
  await changes.announce('certificate', id);
  const refusal = await world.refused('deployCertificate', { certificateId: id, brokers });
  expect(refusal.extensions).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.certificateId', reason: expect.stringMatching(/^expired on /) }] },
  });
  expect((await world.undeploy(id, brokers))[0]?.failed).toEqual([]);
});

test("callers need the documented roles, in the certificate's project, and tokens may be restricted to brokers", async () => {
  const broker = await startCommercialCertificates();
  const world = await certificateWorld();
  const { service } = world;
  const [seen, hidden] = [await world.addBroker(broker.url), await world.addBroker(broker.url, 'hidden')];
  const [viewer, editor] = [await service.person('VIEWER'), await service.person('EDITOR')];
  const id = await world.store('ca.pem', root.cert);
  const brokers = [seen, hidden].map((brokerId) => ({ brokerId, listeners: [{ port: 8883 }] }));
  const codeOf = async (name: string, input: Record<string, unknown>, token?: string) =>
    (await world.refused(name, input, token)).extensions.code;
  const target = { certificateId: id };

  for (const name of ['updateCertificate', 'deleteCertificate', 'deployCertificate', 'undeployCertificate']) {
    const input = name.startsWith('d') || name.startsWith('un') ? { ...target, brokers } : target;
    const fields = name === 'deleteCertificate' ? target : input;
    expect(await codeOf(name, fields, viewer.token), name).toBe('NOT_ALLOWED');
    expect(await codeOf(name, { ...fields, projectId: 'prj_else' }), name).toBe('NOT_FOUND');
    expect(await codeOf(name, fields, (await service.person(null)).token), name).toBe('NOT_FOUND');
  }
  const input = { projectId: service.projectId, filename: 'b', cert: root.cert };
  expect(await codeOf('createCertificate', input, editor.token)).toBe('NOT_ALLOWED');
  expect(await codeOf('deleteCertificate', target, editor.token)).toBe('NOT_ALLOWED');
  expect((await world.deploy(id, brokers.slice(0, 1), editor.token))[0]?.failed).toEqual([]);
  expect((await world.undeploy(id, brokers.slice(0, 1), editor.token))[0]?.failed).toEqual([]);
  await world.change('updateCertificate', { ...target, name: 'by an editor' }, '__typename', editor.token);

  const restricted = (
    await world.change(
      'createToken',
      { projectId: service.projectId, name: 't', role: 'EDITOR', brokerIds: [seen] },
      'secret',
    )
  ).secret;
  const results = await world.deploy(id, brokers, restricted);
  expect(results.map(({ error, failed }) => [error, failed.length])).toEqual([
    [null, 0],
    [`There is no broker "${hidden}"`, 1],
  ]);
  // Both entries connect to the same broker, which already has the file.
  broker.files.clear();
  expect((await world.deploy(id, brokers.slice(1)))[0]?.failed).toEqual([]);
  expect(await world.deployments(id)).toEqual(['8883 0.0.0.0', '8883 0.0.0.0']);
  expect(await world.deployments(id, restricted)).toEqual(['8883 0.0.0.0']);
  const list = `/api/projects/${service.projectId}/certificates`;
  const names = async (token: string) =>
    (await world.rest('GET', list, token)).body[0].brokers.map(({ name }: { name: string }) => name);
  expect([await names(restricted), await names(viewer.token)]).toEqual([['plant'], ['plant', 'hidden']]);
  expect((await world.rest('GET', `${list}?brokerId=${hidden}`, restricted)).status).toBe(404);
  for (const name of ['updateCertificate', 'deleteCertificate']) {
    expect(await codeOf(name, target, restricted)).toBe('NOT_ALLOWED');
  }

  const project = (await world.change('createProject', { name: 'Else' }, 'project { id }')).project.id;
  const elsewhere = `/api/projects/${project}/certificates/${id}`;
  expect((await world.rest('PUT', elsewhere, service.root, { name: 'x' })).status).toBe(404);
  expect((await world.rest('POST', `${elsewhere}/deploy`, service.root, { brokers })).status).toBe(404);
  // A project is deleted with its certificates, even if they are deployed.
  await world.change('deleteProject', { projectId: service.projectId }, 'deletedProjectId');
  expect((await service.graphql('query ($id: ID!) { node(id: $id) { id } }', { id })).data.node).toBeNull();
});

test('the graph returns all fields of a certificate', async () => {
  const world = await certificateWorld();
  const intermediate = root.issue({ name: 'Line 1', altNames: [], isAuthority: true });
  const leaf = intermediate.issue({ name: 'broker', altNames: ['DNS:localhost', 'IP:127.0.0.1'], key: 'rsa-2048' });
  const id = await world.store('broker.pem', leaf.cert, leaf.key);
  const { data, errors } = await world.service.graphql(
    `query ($id: ID!) { node(id: $id) { __typename id ... on Certificate {
      name filename subject issuer subjectAltNames validFrom validTo daysLeft serialNumber fingerprint256 keyType keyBits
      isAuthority hasPrivateKey cert missingIssuer chain { subject issuer isAuthority fingerprint256 keyType keyBits }
      deployments { port } brokers { id } project { certificates { totalCount nodes { id } } }
    } } }`,
    { id },
  );
  expect(errors).toBeUndefined();
  const read = new X509Certificate(leaf.leaf);
  expect(data.node).toMatchObject({
    __typename: 'Certificate',
    id,
    name: 'broker.pem',
    subject: 'CN=broker',
    issuer: 'CN=Line 1',
    subjectAltNames: ['DNS:localhost', 'IP:127.0.0.1'],
    validFrom: new Date(read.validFrom).toISOString(),
    validTo: new Date(read.validTo).toISOString(),
    daysLeft: 364,
    serialNumber: read.serialNumber,
    fingerprint256: read.fingerprint256,
    keyType: 'RSA',
    keyBits: 2048,
    isAuthority: false,
    hasPrivateKey: true,
    cert: leaf.cert,
    missingIssuer: 'CN=Factory',
    chain: [{ subject: 'CN=Line 1', issuer: 'CN=Factory', isAuthority: true, keyType: 'EC', keyBits: 256 }],
    deployments: [],
    brokers: [],
    project: { certificates: { totalCount: 1, nodes: [{ id }] } },
  });
});

test('a key is in no response, error or log', async () => {
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const world = await certificateWorld({ log });
  const { service, rest } = world;
  const id = await world.store('server.pem', server.cert, server.key);
  const other = root.issue({ name: 'else' });
  const at = `/api/projects/${service.projectId}/certificates`;
  const answers = [
    await rest('GET', at),
    await rest('PUT', `${at}/${id}`, service.root, { cert: other.leaf + server.key }),
    await rest('POST', at, service.root, { filename: 'x', cert: `${other.key}${server.key}${server.cert}` }),
    await rest('POST', at, service.root, { filename: 'x', cert: server.key }),
    await service.graphql(`{ node(id: "${id}") { ... on Certificate { cert name } } }`),
    await rest('GET', '/api/openapi.json'),
    await (await fetch(`${service.url}/metrics`)).text(),
  ];
  const told = JSON.stringify(answers) + logged.join('');
  for (const { key } of [server, other]) {
    for (const line of key.split('\n').filter((text) => text.length > 20 && !text.startsWith('-----'))) {
      expect(told).not.toContain(line);
    }
  }
  expect(told).toContain('BEGIN CERTIFICATE');
  expect(logged.length).toBeGreaterThan(0);
});
