import { expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { openedStream } from '../../support/event-stream.ts';
import { startTestService } from '../../support/service.ts';

/** A project with a broker that the token may see, in a cluster with another one whose name is easy to find. */
async function twoBrokers() {
  const service = await startTestService();
  const { rest, storage, projectId, root, services } = service;
  const add = async (name: string) =>
    (await rest('POST', `/api/projects/${projectId}/brokers`, root, { name, url: 'mqtt://127.0.0.1:1' })).body
      .id as string;
  const [own, secret, entry] = [await add('own'), await add('hidden-broker'), await add('hidden-cluster')];
  const nodes = [own, secret].map((brokerId, index) => ({
    nodeId: index + 1,
    brokerId,
    name: 'hidden-node',
    address: 'hidden-address',
    port: 7000,
  }));
  const cluster = { id: entry, name: 'hidden-cluster', mode: 'DYNSEC', keeper: 'GATEWAY' } as const;
  await storage.db.cluster.create({ data: { ...cluster, nodes: { create: nodes } } });
  await storage.changes.announce('cluster', entry);
  while (services.clusters.visibleIn(projectId, await services.auth.viewerOfSecret(root)).length === 0) {
    await new Promise(setImmediate);
  }
  const certificate = await services.certificates.create(projectId, {
    filename: 'ca.pem',
    cert: createAuthority().cert,
  });
  for (const brokerId of [own, secret]) {
    const deployment = { certificateId: certificate.id, brokerId, port: 8883, deployedAt: new Date() };
    await storage.db.certificateDeployment.create({ data: deployment });
  }
  await storage.changes.announce('certificate', certificate.id);
  const issue = (role: 'ADMIN' | 'VIEWER', brokerIds: readonly string[] | null, name: string) =>
    services.tokens.issue({ projectId, name, role, brokerIds }, 'a test');
  const restricted = await issue('ADMIN', [own], 'own');
  const hidden = await issue('VIEWER', [secret], 'hidden-token');
  const traces = ['hidden', secret, entry, hidden.token.id];
  return {
    ...service,
    own,
    secret,
    entry,
    token: restricted.secret,
    certificateId: certificate.id,
    hiddenToken: hidden.token.id,
    traces,
  };
}

type Two = Awaited<ReturnType<typeof twoBrokers>>;

const expectNoTrace = ({ traces }: Two, what: string, told: unknown, unlessSent: readonly string[] = []) => {
  const text = JSON.stringify(told);
  for (const trace of traces) {
    if (!unlessSent.includes(trace)) expect(text, what).not.toContain(trace);
  }
};

const EVERYTHING = `query ($p: ID!) {
  viewer { actorId name }
  projects { totalCount nodes { id } }
  project(id: $p) {
    brokers { totalCount nodes { id name cluster { id name } } }
    clusters { totalCount nodes { id name } }
    clusterHealth { clusterId name }
    certificates { totalCount nodes { id brokers { id name } deployments { broker { id name } port } } }
    tokens { id name brokerIds }
    tokenCount
    restSettings { brokers { id name } }
  }
}`;

test('no list, count, header or nested field reveals other brokers to a restricted token', async () => {
  const world = await twoBrokers();
  const { graphql, rest, projectId, token, own, certificateId } = world;
  const { data, errors } = await graphql(EVERYTHING, { p: projectId }, token);
  expect(errors).toBeUndefined();
  expectNoTrace(world, 'the graph', data);
  const { project } = data;
  expect([project.brokers.totalCount, project.clusters.totalCount, project.tokenCount]).toEqual([1, 0, 1]);
  expect(project.certificates.nodes).toMatchObject([{ id: certificateId, brokers: [{ id: own }] }]);
  expect(project.certificates.nodes[0].deployments).toHaveLength(1);
  for (const [path, total] of [
    ['brokers', '1'],
    ['clusters', '0'],
    ['clusters/status', null],
    ['certificates', '1'],
    [`certificates?brokerId=${own}`, '1'],
    ['tokens', '1'],
    ['settings', null],
    [`brokers/${own}`, null],
    [`brokers/${own}/info`, null],
  ] as const) {
    const answer = await rest('GET', `/api/projects/${projectId}/${path}`, token);
    expectNoTrace(world, path, [answer.body, [...answer.headers]]);
    if (total !== null) expect([path, answer.headers.get('x-total-count')]).toEqual([path, total]);
  }
});

test('what a restricted token names but does not see is answered as what is not there', async () => {
  const world = await twoBrokers();
  const { graphql, rest, projectId, token, secret, entry, hiddenToken, certificateId } = world;
  const same = async (ask: (id: string) => Promise<unknown>, id: string, unknown: string, what: string) => {
    const [real, made] = [await ask(id), await ask(unknown)];
    // Without its prefix: refusals about clusters name the id of the entry, which differs in the prefix.
    const asText = (told: unknown, named: string) => JSON.stringify(told).replaceAll(named.slice(4), 'ID');
    expect(asText(real, id), what).toBe(asText(made, unknown));
    expectNoTrace(world, what, real, [id]);
  };
  const queries = {
    node: 'query ($id: ID!) { node(id: $id) { id } }',
    broker: 'query ($id: ID!) { broker(id: $id) { id name } }',
    cluster: `query ($id: ID!) { project(id: "${projectId}") { cluster(id: $id) { id } } }`,
    certificates: `query ($id: ID!) { project(id: "${projectId}") { certificates(brokerId: $id) { totalCount } } }`,
    streams: 'query ($id: ID!) { broker(id: $id) { streams { totalCount } } }',
    delete: 'mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }',
    revoke: 'mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }',
    deploy: `mutation ($id: ID!) { deployCertificate(input: { certificateId: "${certificateId}", brokers: [{ brokerId: $id, listeners: [{ port: 8883 }] }] }) { results { brokerId error failed { port error } } } }`,
  };
  for (const [what, query] of Object.entries(queries)) {
    const ask = async (id: string) => {
      const { data, errors } = await graphql(query, { id }, token);
      return { data, errors: errors?.map(({ message, extensions }) => [message, extensions]) };
    };
    await same(ask, secret, 'brk_0000000000unknown', what);
    await same(ask, entry, 'brk_0000000000unknowm', what);
    await same(ask, hiddenToken, 'tok_0000000000unknown', what);
  }
  for (const path of ['', '/info', '/clients', '/streams', '/client-inspect', '/bridges', '/listeners', '/topictree']) {
    const ask = async (id: string) => {
      const { status, body } = await rest('GET', `/api/projects/${projectId}/brokers/${id}${path}`, token);
      return [status, body];
    };
    await same(ask, secret, 'brk_0000000000unknown', path);
  }
});

test('refusals about its own broker do not name the cluster that it is a node of', async () => {
  const world = await twoBrokers();
  const { rest, projectId, token, own } = world;
  for (const [method, path, body] of [
    ['DELETE', '', undefined],
    ['POST', '/clients', { username: 'u' }],
    ['POST', '/groups', { groupname: 'g' }],
    ['PUT', '/acldefault', [{ acltype: 'subscribe', allow: true }]],
  ] as const) {
    const answer = await rest(method, `/api/projects/${projectId}/brokers/${own}${path}`, token, body);
    expect([answer.status, answer.body.code], path).toEqual([400, 'IN_USE']);
    expectNoTrace(world, `${method} ${path}`, answer.body);
  }
});

test('subscriptions of the project send only events of its own brokers to a restricted token', async () => {
  const world = await twoBrokers();
  const { projectId, token, rest, own, secret } = world;
  const stream = await openedStream('SSE', world, token, {
    query: 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind brokers { broker { id name } } } }',
    variables: { p: projectId },
  });
  await rest('PUT', `/api/projects/${projectId}/brokers/${secret}`, world.root, { name: 'hidden-still' });
  await rest('PUT', `/api/projects/${projectId}/brokers/${own}`, world.root, { name: 'renamed' });
  const seen: unknown[] = [];
  await stream.until((data) => {
    seen.push(data);
    return data.brokerStatus.brokers.some(({ broker }: { broker: { name: string } }) => broker.name === 'renamed');
  });
  expectNoTrace(world, 'brokerStatus', seen);
});
