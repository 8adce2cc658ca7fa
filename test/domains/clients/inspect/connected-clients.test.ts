import { readFileSync } from 'node:fs';
import { createClient as createSseClient } from 'graphql-sse';
import { connectAsync } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { passwordFile } from '../../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { bearer, connected, startTestService, type TestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';

const WATCH = `subscription ($id: ID!) { connectedClients(brokerId: $id) {
  kind sequence isComplete removed clients { clientId username isConnected protocolVersion source }
} }`;
const LIST = `query ($id: ID!, $filter: ConnectedClientFilter) { broker(id: $id) { connectedClients(first: 50, filter: $filter) {
  totalCount isComplete since nodes { clientId username address protocol protocolVersion isConnected lastConnectedAt isGateway source asOf }
} } }`;

interface Broker {
  readonly id: string;
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** The embedded broker of the first start, or a real Mosquitto added by REST, already connected. */
async function embedded(): Promise<{ service: TestService; broker: Broker }> {
  const service = await startTestService({ embeddedBroker: true });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8');
  return { service, broker: { id, url: url ?? '', username: 'admin', password } };
}

async function mosquitto(
  logTypes: readonly string[] = FOLLOWED_LOG,
): Promise<{ service: TestService; broker: Broker }> {
  const { url } = await startMosquitto({ access: 'passwords', logTypes });
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'm',
    url,
    ...ADMIN,
  });
  await connected(service, body.id);
  return { service, broker: { id: body.id, url, ...ADMIN } };
}

const join = async (broker: Broker, clientId: string) => {
  const client = await connectAsync(broker.url, {
    clientId,
    username: broker.username,
    password: broker.password,
    protocolVersion: 4,
    reconnectPeriod: 0,
  });
  onTestFinished(() => client.endAsync(true));
  return client;
};

for (const [kind, start, source] of [
  ['the embedded broker', embedded, 'BROKER'],
  ['plain Mosquitto', mosquitto, 'LOG_FEED'],
] as const) {
  test(`a client of ${kind} is listed live, in the graph and by REST, and its disconnect is sent`, async () => {
    const { service, broker } = await start();
    await connected(service, broker.id);
    const events = subscribe(service, service.root, WATCH, { id: broker.id });
    const snapshot = await events.until(({ connectedClients }) => connectedClients.kind === 'SNAPSHOT');
    expect(snapshot.connectedClients.removed).toEqual([]);

    const from = Date.now();
    const client = await join(broker, 'dev-17');
    const came = await events.until(({ connectedClients }) =>
      connectedClients.clients.some((c: { clientId: string }) => c.clientId === 'dev-17'),
    );
    expect(came.connectedClients.kind).toBe('CHANGE');
    expect(came.connectedClients.clients.find((c: { clientId: string }) => c.clientId === 'dev-17')).toEqual({
      clientId: 'dev-17',
      username: broker.username,
      isConnected: true,
      protocolVersion: 'V3_1_1',
      source,
    });

    const { data } = await service.graphql(LIST, { id: broker.id, filter: { value: 'dev-', mode: 'STARTS_WITH' } });
    expect(data.broker.connectedClients).toMatchObject({
      totalCount: 1,
      nodes: [
        { clientId: 'dev-17', protocol: 'MQTT', address: '127.0.0.1', isConnected: true, isGateway: false, source },
      ],
    });
    expect(Date.parse(data.broker.connectedClients.nodes[0].asOf)).toBeGreaterThanOrEqual(from);

    const at = `/api/projects/${service.projectId}/brokers/${broker.id}/client-inspect`;
    const { body, headers } = await service.rest('GET', `${at}?filterValue=DEV-&count=10`);
    expect([body.length, headers.get('x-total-count')]).toEqual([0, '0']);
    const list = await service.rest('GET', `${at}?filterValue=dev-&count=10`);
    expect(list.body).toMatchObject([
      {
        username: broker.username,
        clientid: 'dev-17',
        address: '127.0.0.1',
        protocol: 'MQTT',
        protocolVersion: 'v3.1.1',
        connected: true,
        lastDisconnect: null,
      },
    ]);
    expect((await service.rest('GET', `${at}?verbose=false&filterValue=dev-17&filterMode=equals`)).body).toEqual([
      'dev-17',
    ]);
    const detail = await service.rest('GET', `${at}/detail?clientid=dev-17`);
    expect(detail.body).toMatchObject({ clientid: 'dev-17', keepalive: 60, cleanSession: true });
    expect((await service.rest('GET', `${at}/detail?clientid=nobody`)).status).toBe(404);
    expect((await service.rest('GET', `${at}/detail?clientid=`)).status).toBe(400);

    await client.endAsync();
    await events.until(({ connectedClients }) => connectedClients.removed.includes('dev-17'));
  });
}

test('a caller without credentials gets 401 by SSE as elsewhere, and a refusal for a user is sent as an event', async () => {
  const service = await startTestService();
  const ask = async (query: string, token: string | null) => {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query }),
    });
    return [response.status, /"code":"(\w+)"/.exec(await response.text())?.[1]];
  };
  const watch = 'subscription { brokerStatus(projectId: "prj_none") { kind } }';
  expect(await ask(watch, null)).toEqual([401, 'UNAUTHORIZED']);
  expect(await ask(watch, 'bgs_wrong')).toEqual([401, 'UNAUTHORIZED']);
  expect(await ask(watch, service.root)).toEqual([200, 'NOT_FOUND']);
  expect(await ask('subscription { nothing }', service.root)).toEqual([200, 'INVALID']);
});

test('the same events are sent by SSE', async () => {
  const { service, broker } = await embedded();
  await connected(service, broker.id);
  const client = createSseClient({
    url: `${service.url}/graphql`,
    headers: { authorization: `Bearer ${service.root}` },
    retryAttempts: 0,
  });
  onTestFinished(() => client.dispose());
  const events = client.iterate({ query: WATCH, variables: { id: broker.id } });
  const first = await events.next();
  expect(first.value).toMatchObject({ data: { connectedClients: { kind: 'SNAPSHOT' } } });
  await join(broker, 'by-sse');
  for await (const { data } of events) {
    const { clients } = (data as { connectedClients: { clients: { clientId: string }[] } }).connectedClients;
    if (clients.some(({ clientId }) => clientId === 'by-sse')) break;
  }
});

test('earlier clients are known to be missing: the list is reported as incomplete', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  await broker.client({ clientId: 'early', ...ADMIN });
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'm',
    url: broker.url,
    ...ADMIN,
  });
  await connected(service, body.id);
  await expect
    .poll(async () => (await service.graphql(LIST, { id: body.id })).data.broker.connectedClients)
    .toMatchObject({ isComplete: false, since: expect.any(String) });
});

test('a retained count that happens to match does not make a list complete', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  const early = await broker.client({ clientId: 'early', ...ADMIN });
  const counted = new Promise<void>((resolve) => {
    early.on('message', (_topic, payload) => {
      if (payload.toString() === '1') resolve();
    });
  });
  await early.subscribeAsync('$SYS/broker/clients/connected');
  await counted;
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'm',
    url: broker.url,
    ...ADMIN,
  });
  await connected(service, body.id);
  const { data } = await service.graphql(LIST, { id: body.id });
  expect(data.broker.connectedClients).toMatchObject({ totalCount: 1, isComplete: false });
});

test('a Mosquitto without a published log returns an error with the settings, never an empty list', async () => {
  const { service, broker } = await mosquitto([]);
  const { data, errors } = await service.graphql(LIST, { id: broker.id });
  expect(data.broker.connectedClients).toBeNull();
  expect(errors).toMatchObject([
    { path: ['broker', 'connectedClients'], extensions: { code: 'NOT_SUPPORTED_BY_BROKER' } },
  ]);
  expect(JSON.stringify(errors)).toContain('log_dest topic');
  const rest = await service.rest('GET', `/api/projects/${service.projectId}/brokers/${broker.id}/client-inspect`);
  expect([rest.status, rest.body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
  const { data: known } = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { capabilities { api provider reason } } }',
    { id: broker.id },
  );
  expect(known.broker.capabilities).toContainEqual({
    api: 'cedalo/inspect',
    provider: 'NONE',
    reason: expect.stringContaining('log_dest topic'),
  });
});

for (const [what, end] of [
  [
    'the session is logged out',
    (s: TestService, p: { token: string }) => s.graphql('mutation { logout { isLoggedOut } }', {}, p.token),
  ],
  [
    'the member is removed',
    (s: TestService, p: { email: string }) => s.services.projects.removeMember(s.projectId, p.email),
  ],
] as const) {
  test(`a subscription is closed with 4403 when ${what}, and others continue`, async () => {
    const { service, broker } = await embedded();
    await connected(service, broker.id);
    const person = await service.person('VIEWER');
    const doomed = subscribe(service, person.token, WATCH, { id: broker.id });
    const other = subscribe(service, service.root, WATCH, { id: broker.id });
    await doomed.until(({ connectedClients }) => connectedClients.kind === 'SNAPSHOT');
    await other.until(({ connectedClients }) => connectedClients.kind === 'SNAPSHOT');

    await end(service, person);
    expect(await doomed.closed).toBe(4403);

    await join(broker, 'after');
    await other.until(({ connectedClients }) =>
      connectedClients.clients.some((c: { clientId: string }) => c.clientId === 'after'),
    );
  });
}
