import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { startNodes } from '../../domains/clusters/cluster-world.ts';
import { createAuthority } from '../../support/certificates.ts';
import { ADMIN, startClient, startMosquitto } from '../../support/mosquitto.ts';
import type { RestAnswer, TestService } from '../../support/service.ts';

/** The number of messages that the stream of each broker has stored. */
export const STORED = 50;
export const MESSAGES = Array.from({ length: STORED }, (_, n) => JSON.stringify({ n }));

interface Connection {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** What requests on the same data name. */
export interface Everything {
  readonly root: string;
  /** Session token of a user with a password. */
  readonly session: string;
  /** Secret of a project token, which may see one broker. */
  readonly token: string;
  readonly projectId: string;
  readonly userId: string;
  /** The first broker, a broker with the engine mosquitto, and a Mosquitto that the service does not run. */
  readonly brokerIds: readonly [embedded: string, mosquitto: string, plant: string];
  readonly clusterId: string;
  readonly clusterBrokerId: string;
  /** Connections of an administrator to these brokers. */
  readonly connections: readonly Connection[];
  /** Port of the first broker, and the certificate that it serves there. */
  readonly tlsPort: number;
  readonly fingerprint: string;
}

const STREAM = { streamname: 'kept', sourceTopic: 'in/#', targetTopic: 'out', persist: true, ttl: 3_600, active: true };

/** Fills a service through its interfaces with at least one of everything that it stores. */
export async function createEverything(service: TestService): Promise<Everything> {
  const { projectId, root } = service;
  const done = async (answer: Promise<RestAnswer>) => {
    const { status, body } = await answer;
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body;
  };
  const rest = (method: string, path: string, body?: unknown) => done(service.rest(method, path, root, body));
  const mutate = async (name: string, input: object, selection = '__typename', token = root) => {
    const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input!`;
    const document = `mutation ($input: ${type}) { ${name}(input: $input) { ${selection} } }`;
    const { data, errors } = await service.graphql(document, { input }, token);
    if (errors) throw new Error(`${name}: ${JSON.stringify(errors)}`);
    return data[name];
  };
  const project = `/api/projects/${projectId}`;

  const ada = { firstname: 'Ada', lastname: 'Lovelace', email: 'ada@example.com', password: 'a long secret' };
  const { id: userId } = await rest('POST', '/api/users', { ...ada, verified: true });
  await rest('PUT', '/api/users/admins?email=ada%40example.com');
  const session = await service.login(ada.email, ada.password);
  await mutate('beginSecondFactor', { currentPassword: ada.password }, '__typename', session);
  const { organization } = await mutate('createOrganization', { name: 'Works ü' }, 'organization { id }', session);
  await mutate('createProject', { name: 'Theirs', organizationId: organization.id }, '__typename', session);
  await mutate('setProjectMember', { projectId, email: ada.email, role: 'EDITOR' });
  const rule = { provider: 'SSO', pattern: '(?i)plant-.*', role: 'VIEWER' };
  await mutate('createSignInRules', { projectId, rules: [rule] });

  const { id: embedded } = await service.storage.db.broker.findFirstOrThrow();
  const { broker: own } = await mutate(
    'createCloudBroker',
    { projectId, name: 'own', engine: 'MOSQUITTO' },
    'broker { id }',
  );
  const remote = await startMosquitto({ access: 'dynsec' });
  const connection = { name: 'plant', description: 'hall "7"', url: remote.url, ...ADMIN };
  const { id: plant } = await rest('POST', `${project}/brokers`, connection);
  const brokerIds = [embedded, own.id as string, plant as string] as const;
  await connected(service, brokerIds);

  const list = { name: 'reader', role: 'editor', brokers: [plant], type: 'restricted', valid_date: '2099-12-31' };
  const { token } = await rest('POST', `${project}/tokens`, list);
  for (const id of brokerIds) {
    const at = `${project}/brokers/${id}`;
    const acl = { acltype: 'subscribePattern', topic: 'a/#', priority: 1, allow: true };
    await rest('POST', `${at}/roles`, { rolename: 'r', textname: 'R' });
    await rest('PUT', `${at}/roles`, { rolename: 'r', acls: [acl] });
    await rest('POST', `${at}/groups`, { groupname: 'g', textname: 'G' });
    await rest('PUT', `${at}/groups`, { groupname: 'g', roles: [{ rolename: 'r' }] });
    await rest('POST', `${at}/clients`, { username: 'u', password: 'p', groups: [{ groupname: 'g' }], roles: [] });
    await rest('PUT', `${at}/acldefault`, [{ acltype: 'publishClientSend', allow: true }]);
    await rest('POST', `${at}/streams`, STREAM);
    await mutate('deleteRetainedMessages', { brokerId: id, filter: 'none/#' });
    await rest('PUT', `${at}/topictree/ttl`, { ttl_sec: 7_200 });
    // Nothing listens there, so messages wait in its queue.
    const out = { name: 'away', url: 'mqtt://127.0.0.1:9', username: 'x', password: 'a secret', topics: OUTWARDS };
    await rest('PUT', `${at}/bridges/mqtt-bridge/config`, { connections: [out] });
  }
  const connections = [
    { url: report(service).url, ...administrator(service, embedded) },
    { url: await urlOf(service, own.id), ...administrator(service, own.id) },
    { url: remote.url, ...ADMIN },
  ];
  for (const [n, brokerId] of brokerIds.entries()) await store(service, brokerId, connections[n]);

  const authority = createAuthority({ name: 'Plant' });
  const server = authority.issue({ name: 'broker' });
  const certificates = `${project}/certificates`;
  await rest('POST', certificates, { filename: 'ca.pem', cert: authority.cert });
  const { id: certificateId } = await rest('POST', certificates, { filename: 's.pem', cert: server.cert + server.key });
  const tls = Number(new URL(report(service).tlsUrls[0] ?? '').port);
  const target = [{ brokerId: embedded, listeners: [{ port: tls }] }];
  const [{ failed }] = await rest('POST', `${certificates}/${certificateId}/deploy`, { brokers: target });
  expect(failed).toEqual([]);

  const nodes = (await startNodes(service, 2)).map(({ brokerId, nodeId }) => ({
    brokerId,
    nodeId,
    name: `node ${nodeId}`,
    address: '127.0.0.1',
    port: 7_000 + nodeId,
  }));
  const wanted = { projectId, name: 'pair', mode: 'DYNSEC', nodes };
  const { cluster } = await mutate('createCluster', wanted, 'cluster { id brokerId }');
  const pair = `${project}/brokers/${cluster.brokerId}`;
  await rest('POST', `${pair}/clients`, { username: 'both', password: 'p', groups: [], roles: [] });
  // A refused attempt is in the audit, too.
  await service.rest('DELETE', `${project}/brokers/${plant}`, token);
  const { fingerprint256: fingerprint } = server;
  const ids = { projectId, userId, brokerIds, clusterId: cluster.id, clusterBrokerId: cluster.brokerId };
  return { root, session, token, ...ids, connections, tlsPort: tls, fingerprint };
}

const OUTWARDS = [{ pattern: 'in/#', direction: 'out', qos: 1 }];

const report = ({ report: { mqtt } }: TestService) => {
  if (!mqtt) throw new Error('The embedded broker did not start');
  return mqtt;
};

async function urlOf({ storage }: TestService, id: string): Promise<string> {
  return (await storage.db.broker.findUniqueOrThrow({ where: { id } })).url ?? '';
}

export async function connected({ graphql }: TestService, brokerIds: readonly string[]): Promise<void> {
  for (const id of brokerIds) {
    const isConnected = async () =>
      (await graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id })).data?.broker?.isConnected;
    await expect.poll(isConnected).toBe(true);
  }
}

const administrator = ({ config }: TestService, brokerId: string) => ({
  username: 'admin',
  password: readFileSync(passwordFile(config.dataDir, brokerId), 'utf8').trim(),
});

/** Publishes messages that the stream of the broker stores, ten of them retained, and leaves a session. */
async function store(service: TestService, brokerId: string, connection: Connection | undefined): Promise<void> {
  const query = `query ($id: ID!) {
    broker(id: $id) { streams { nodes { state storage { messages } } } }
  }`;
  const stream = async () => (await service.graphql(query, { id: brokerId })).data?.broker?.streams?.nodes?.[0];
  await expect.poll(stream).toMatchObject({ state: 'RUNNING' });
  const client = await startClient(connection?.url ?? '', { ...connection, clientId: 'meter', clean: false });
  await client.subscribeAsync('later/#', { qos: 1 });
  for (const [n, text] of MESSAGES.entries()) await client.publishAsync(`in/${n}`, text, { qos: 1, retain: n < 10 });
  await client.endAsync();
  await expect.poll(stream).toMatchObject({ storage: { messages: STORED } });
}

/** The stored messages of the stream of a broker, as a client receives them. `n`: the position of the broker. */
export async function replayed(service: TestService, { projectId, connections, brokerIds }: Everything, n: number) {
  const client = await startClient(connections[n]?.url ?? '', { ...connections[n] });
  const texts: string[] = [];
  client.on('message', (_topic, payload) => texts.push(payload.toString()));
  await client.subscribeAsync('again', { qos: 1 });
  const path = `/api/projects/${projectId}/brokers/${brokerIds[n]}/streams/replay`;
  const body = { streamname: 'kept', replayTopic: 'again', speed: 'fastest' };
  expect((await service.rest('PUT', path, service.root, body)).status).toBe(204);
  await expect.poll(() => texts.length).toBe(STORED);
  return texts;
}
