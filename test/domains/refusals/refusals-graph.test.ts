import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { connect, control } from '../../data-plane/broker/embedded.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker, startCommercialBroker } from '../clients/graph/commercial-broker.ts';
import { codeOf } from '../clients/graph/operations.ts';
import { joinFrom, listRefusals, REFUSAL_FIELDS, type SeenRefusal, sendRaw, watchRefusals } from './refused-clients.ts';

const wrong = Buffer.from('wrong');

async function start() {
  const service = await startTestService({ embeddedBroker: true });
  const { mqtt } = service.report;
  if (!mqtt) throw new Error('The embedded broker did not start');
  const { id: brokerId } = await service.storage.db.broker.findFirstOrThrow();
  const password = Buffer.from(readFileSync(mqtt.passwordFile, 'utf8').trim());
  return { service, brokerId, port: Number(new URL(mqtt.url).port), username: mqtt.username, password };
}

test('refusals are filtered, paged newest first, counted, and found by their id', async () => {
  const { service, brokerId, port } = await start();
  const { next } = await watchRefusals(service, brokerId);
  for (const number of [1, 2, 3, 4, 5]) {
    sendRaw(port, { clientId: `dev-${number}`, username: number > 3 ? 'late' : 'early', password: wrong });
    await next(({ clientId }) => clientId === `dev-${number}`);
  }
  sendRaw(port, { clientId: 'dev-1', username: 'early', password: wrong });
  await next(({ clientId, count }) => clientId === 'dev-1' && count === 2);

  const names = async (args: object) => {
    const { data } = await listRefusals(service, brokerId, args);
    return data.broker.refusals.nodes.map(({ clientId }: SeenRefusal) => clientId);
  };
  expect(await names({})).toEqual(['dev-1', 'dev-5', 'dev-4', 'dev-3', 'dev-2']);
  expect(await names({ username: 'late' })).toEqual(['dev-5', 'dev-4']);
  expect(await names({ clientId: 'dev-3' })).toEqual(['dev-3']);
  expect(await names({ filter: { value: 'lat', mode: 'STARTS_WITH' } })).toEqual(['dev-5', 'dev-4']);
  expect(await names({ kinds: ['PUBLISH'] })).toEqual([]);
  expect(await names({ reasons: ['UNKNOWN_ACCOUNT'], first: 1 })).toEqual(['dev-1']);

  const { data } = await listRefusals(service, brokerId, { first: 2 });
  const { totalCount, pageInfo, nodes } = data.broker.refusals;
  expect([totalCount, pageInfo.hasNextPage]).toEqual([5, true]);
  expect(await names({ first: 2, after: pageInfo.endCursor })).toEqual(['dev-4', 'dev-3']);
  expect(codeOf(await listRefusals(service, brokerId, { after: 'elsewhere' }))).toBe('INVALID');

  const NODE = `query ($id: ID!) { node(id: $id) { id ... on Refusal { ${REFUSAL_FIELDS} account { username } } } }`;
  const { data: found } = await service.graphql(NODE, { id: nodes[0].id });
  expect(found.node).toMatchObject({ ...nodes[0], account: null });
  expect((await service.graphql(NODE, { id: `${nodes[0].id}x` })).data.node).toBeNull();
});

test('the account and the deciding rule lead to access control', async () => {
  const { service, brokerId, port, username, password } = await start();
  const { next } = await watchRefusals(service, brokerId);
  const topic = '$SYS/forged';
  const publish = { cmd: 'publish', topic, payload: 'x', qos: 1, messageId: 1, dup: false, retain: false } as const;
  sendRaw(port, { clientId: 'admin-like', username, password }, publish);
  const refusal = await next(({ kind }) => kind === 'PUBLISH');
  expect(refusal).toMatchObject({ topic, decision: 'BROKER', decidedBy: null });

  const QUERY =
    'query ($id: ID!) { broker(id: $id) { refusals { nodes { clientId account { username roles { roleName } } } } } }';
  const { data } = await service.graphql(QUERY, { id: brokerId });
  expect(data.broker.refusals.nodes[0]).toMatchObject({ clientId: 'admin-like', account: { username } });
});

test('a session of another account is refused with its reason as soon as the broker binds sessions to accounts', async () => {
  const { service, brokerId, port, username, password } = await start();
  const owner = { clientId: 'device', username, password: password.toString() };
  const other = { clientId: 'device', username: 'other', password: 'secret' };
  const { username: name, password: secret } = other;
  const createClient = { command: 'createClient', username: name, password: secret };
  await control(await connect(port, owner), 'dynamic-security', { commands: [createClient] });
  const UPDATE = `mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) {
    broker { ... on CloudBroker { bindsSessionsToAccounts } }
  } }`;
  const bind = (id: string, bindsSessionsToAccounts: boolean) =>
    service.graphql(UPDATE, { input: { brokerId: id, bindsSessionsToAccounts } });

  await connect(port, other);
  await connect(port, owner);
  expect((await bind(brokerId, true)).data.updateBroker.broker).toEqual({ bindsSessionsToAccounts: true });
  const { next } = await watchRefusals(service, brokerId);
  await expect(connect(port, other)).rejects.toMatchObject({ code: 2 });
  const refusal = await next(() => true);
  expect(refusal).toMatchObject({ kind: 'CONNECT', reason: 'SESSION_OF_ACCOUNT', clientId: 'device', username: name });
  expect(refusal.whatWouldHelp).toContain('"device"');
  expect((await bind(brokerId, false)).errors).toBeUndefined();
  await connect(port, other);

  const remote = await addBroker(service, `mqtt://127.0.0.1:${port}`, { username, password: owner.password });
  expect(codeOf(await bind(remote, true))).toBe('INVALID');
  expect((await bind(remote, false)).errors).toBeUndefined();
});

test('clients that fight for a client id are one entry with both, and the client has the reason', async () => {
  const { service, brokerId, port, username, password } = await start();
  const admin = await connect(port, { clientId: 'admin', username, password: password.toString() });
  const createClient = { command: 'createClient', username: 'twin', password: 'secret' };
  await control(admin, 'dynamic-security', { commands: [createClient] });
  const { next } = await watchRefusals(service, brokerId);
  const owner = { clientId: 'same-id', username, password };
  const twin = { ...owner, username: 'twin', password: Buffer.from('secret'), protocolVersion: 5 } as const;

  // A client that reconnects is not reported.
  await joinFrom('127.0.0.1', port, owner);
  await joinFrom('127.0.0.1', port, owner);
  await joinFrom('127.0.0.2', port, twin);
  const entry = { kind: 'TAKEOVER', reason: 'TAKEN_OVER', clientId: 'same-id', listenerPort: port, reasonCode: null };
  const first = await next(({ kind }) => kind === 'TAKEOVER');
  expect(first).toMatchObject({
    ...entry,
    count: 1,
    username,
    address: '127.0.0.1',
    takenOverBy: { username: 'twin', address: '127.0.0.2' },
  });
  expect(first.whatWouldHelp).toMatch(/"same-id".*127\.0\.0\.1.*127\.0\.0\.2 \(account "twin"\)/);
  await joinFrom('127.0.0.1', port, owner);
  expect(await next(({ count }) => count === 2)).toMatchObject({
    ...entry,
    id: first.id,
    reasonCode: 0x8e,
    username: 'twin',
    address: '127.0.0.2',
    takenOverBy: { username, address: '127.0.0.1' },
  });
  const names = await listRefusals(service, brokerId, { kinds: ['TAKEOVER'], username: 'twin' });
  expect(names.data.broker.refusals.totalCount).toBe(1);
  const READ = `query ($id: ID!, $clientId: String!) { broker(id: $id) { connectedClient(clientId: $clientId) { disconnectReason } } }`;
  const reasonOf = async (clientId: string) =>
    (await service.graphql(READ, { id: brokerId, clientId })).data.broker.connectedClient.disconnectReason;
  expect([await reasonOf('same-id'), await reasonOf('admin')]).toEqual(['session taken over', null]);
});

test('a subscription resumes after its last event', async () => {
  const { service, brokerId, port } = await start();
  const WATCH =
    'subscription ($id: ID!, $after: SafeInt) { refusals(brokerId: $id, after: $after) { kind sequence refusals { clientId count } } }';
  const first = subscribe(service, service.root, WATCH, { id: brokerId });
  await first.until(({ refusals }) => refusals.kind === 'SNAPSHOT');
  sendRaw(port, { clientId: 'one', username: 'nobody', password: wrong });
  const { refusals: last } = await first.until(({ refusals }) => refusals.refusals.length === 1);
  const other = await watchRefusals(service, brokerId);
  first.end();
  sendRaw(port, { clientId: 'two', username: 'nobody', password: wrong });
  await other.next(({ clientId }) => clientId === 'two');

  const second = subscribe(service, service.root, WATCH, { id: brokerId, after: last.sequence });
  const resumed = await second.until(() => true);
  expect(resumed.refusals.kind).toBe('RESUMED');
  const change = await second.until(() => true);
  expect(change.refusals).toMatchObject({ kind: 'CHANGE', refusals: [{ clientId: 'two', count: 1 }] });
});

test('viewers may read refusals; other callers cannot see the broker', async () => {
  const { service, brokerId } = await start();
  const [viewer, stranger] = [await service.person('VIEWER'), await service.person(null)];
  const seen = await listRefusals(service, brokerId, {}, viewer.token);
  expect(seen.data.broker.refusals).toMatchObject({ limit: null });
  expect(codeOf(await listRefusals(service, brokerId, {}, stranger.token))).toBe('NOT_FOUND');
  const watched = subscribe(service, stranger.token, 'subscription ($id: ID!) { refusals(brokerId: $id) { kind } }', {
    id: brokerId,
  });
  await expect(watched.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
});

test('a flood of 3,000 refused clients with random ids costs few events and hides no other network', async () => {
  const { service, brokerId, port } = await start();
  let events = 0;
  const watched = subscribe(
    service,
    service.root,
    'subscription ($id: ID!) { refusals(brokerId: $id) { kind refusals { isMerged count } } }',
    { id: brokerId },
  );
  await watched.until(({ refusals }) => refusals.kind === 'SNAPSHOT');
  const start_ = performance.now();
  for (let number = 0; number < 3_000; number += 1) sendRaw(port, { clientId: `random ${Math.random()}` });
  let merged = 0;
  await watched.until(({ refusals }) => {
    events += 1;
    for (const { isMerged, count } of refusals.refusals) if (isMerged) merged = count;
    return merged === 2_900;
  });
  const seconds = (performance.now() - start_) / 1_000;
  expect(events).toBeLessThanOrEqual(2 + Math.ceil(seconds * 4));
  const { data } = await listRefusals(service, brokerId, { first: 200 });
  expect(data.broker.refusals.totalCount).toBe(101);
});

test('a broker with the commercial plugins and without log topics is NOT_SUPPORTED_BY_BROKER', async () => {
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: '6000' } });
  const broker = await startCommercialBroker();
  const brokerId = await addBroker(service, broker.url);
  const answer = await listRefusals(service, brokerId);
  expect(codeOf(answer)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(answer.errors?.[0]?.message).toMatch(/log_dest topic/);
});
