import { expect, onTestFinished, test } from 'vitest';
import { LATE_EVENT_MS } from '../../../src/protocol/apis/clients/client-events.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { startTestService } from '../../support/service.ts';
import { codeOf } from '../clients/graph/operations.ts';
import { embeddedBroker, mosquittoBroker } from '../clients/truth/observed-broker.ts';
import { dialMqtt } from '../clients/truth/raw-client.ts';
import { addBroker } from '../messages/message-world.ts';
import { coverageOf, eventsOf } from './event-pages.ts';
import { takeRandomSteps } from './random-steps.ts';

const dial = (port: number, clientId: string, account: { username: string; password: string } | null = null) =>
  dialMqtt({ port, clientId, account, protocolVersion: 5, clean: true, expirySeconds: 0, keepalive: 600 });

for (const [name, start, clients] of [
  ['the embedded broker', embeddedBroker, 200],
  ['Mosquitto', mosquittoBroker, 100],
] as const) {
  test(`events equal what ${clients} clients of ${name} did at random, in order, and none is missing`, async () => {
    const { service, brokerId, port } = await start();
    await expect.poll(() => coverageOf(service, brokerId)).toMatchObject({ isComplete: true, gaps: [] });
    const expected = await takeRandomSteps({ port, clients, steps: 5, seed: Date.now() % 10_000 });
    const total = [...expected.values()].flat().length;
    const kinds = ['CONNECTED', 'DISCONNECTED', 'TAKEN_OVER'];
    const seen = async () =>
      (await eventsOf(service, brokerId, { kinds })).filter(({ clientId }) => clientId?.startsWith('device-'));
    await expect.poll(async () => (await seen()).length).toBe(total);
    const found = new Map<string, string[]>();
    for (const { clientId, kind, reason } of (await seen()).reverse()) {
      const list = found.get(clientId ?? '') ?? [];
      const wanted = expected.get(clientId ?? '')?.[list.length];
      // A broker may notice that a client vanished only when it connects again.
      const isLate = wanted === 'CONNECTION_CLOSED' && kind === 'TAKEN_OVER';
      found.set(clientId ?? '', [...list, isLate ? wanted : kind === 'DISCONNECTED' ? (reason ?? '') : kind]);
    }
    expect(Object.fromEntries([...found].sort())).toEqual(Object.fromEntries([...expected].sort()));
    expect(await coverageOf(service, brokerId)).toMatchObject({ isComplete: true, gaps: [] });
  });
}

const KICK = 'mutation ($input: DisconnectClientInput!) { disconnectClient(input: $input) { clientId } }';
const HISTORY = `query ($id: ID!, $clientId: String!) { broker(id: $id) { clientHistory(clientId: $clientId) {
  nodes { kind refusal { reason } } } } }`;

test('an event names the client, and the operation and the rule that caused it; rights hide both', async () => {
  const { service, brokerId, port } = await embeddedBroker();
  const operator = { username: 'operator', password: 'a password' };
  const client = await dial(port, 'kicked', operator);
  const { errors } = await service.graphql(KICK, { input: { brokerId, clientId: 'kicked' } });
  expect(errors).toBeUndefined();
  await client.closed;
  await expect(dial(port, 'never', { username: 'nobody', password: 'x' })).rejects.toThrow();
  await expect.poll(() => eventsOf(service, brokerId, { kinds: ['REFUSED'] })).toHaveLength(1);

  const about = {
    clientId: 'kicked',
    username: 'operator',
    address: '127.0.0.1',
    listenerPort: port,
    protocol: 'MQTT',
  };
  await expect.poll(() => eventsOf(service, brokerId, { username: 'operator' })).toHaveLength(2);
  expect(await eventsOf(service, brokerId, { username: 'operator' })).toMatchObject([
    { ...about, kind: 'DISCONNECTED', reason: 'ADMINISTRATOR', operation: { operation: 'disconnectClient' } },
    { ...about, kind: 'CONNECTED', reason: null, operation: null },
  ]);
  const { data } = await service.graphql(HISTORY, { id: brokerId, clientId: 'never' });
  expect(data.broker.clientHistory.nodes).toEqual([{ kind: 'REFUSED', refusal: { reason: 'UNKNOWN_ACCOUNT' } }]);

  const reader = await service.person('VIEWER');
  const [event] = await eventsOf(service, brokerId, { kinds: ['DISCONNECTED'] }, reader.token);
  expect(event).toMatchObject({ clientId: 'kicked', operation: null });
  const stranger = await service.person(null);
  const hidden = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { clientEvents { nodes { kind } } } }',
    { id: brokerId },
    stranger.token,
  );
  expect(codeOf(hidden)).toBe('NOT_FOUND');
});

const PAGE = `query ($id: ID!, $filter: ClientEventFilter, $first: Int, $after: String, $last: Int, $before: String) {
  project(id: $id) { clientEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    nodes { clientId kind broker { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;

test('a project has the events of its brokers, in pages of both directions, filtered by each condition', async () => {
  const { service, brokerId, port } = await embeddedBroker();
  await expect.poll(async () => (await eventsOf(service, brokerId)).length).toBeGreaterThan(1);
  const from = new Date().toISOString();
  for (let number = 0; number < 7; number += 1) {
    const client = await dial(port, `c${number}`);
    await client.disconnect();
  }
  await expect.poll(async () => (await eventsOf(service, brokerId, { from })).length).toBe(14);
  const page = async ({ filter = {}, ...args }: Record<string, unknown> & { filter?: object }) => {
    const variables = { id: service.projectId, filter: { from, ...filter }, ...args };
    const { data, errors } = await service.graphql(PAGE, variables);
    return { errors, ...data?.project?.clientEvents };
  };
  const all = (await page({ first: 100 })).nodes;
  expect(all.map(({ clientId }: { clientId: string }) => clientId)).toEqual(
    [6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0].map((number) => `c${number}`),
  );
  const first = await page({ first: 5 });
  expect(first.nodes).toEqual(all.slice(0, 5));
  const second = await page({ first: 5, after: first.pageInfo.endCursor });
  expect(second.nodes).toEqual(all.slice(5, 10));
  const back = await page({ last: 3, before: second.pageInfo.startCursor });
  expect(back.nodes).toEqual(all.slice(2, 5));
  expect(back.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: true });
  expect((await page({ first: 5, after: second.pageInfo.endCursor })).pageInfo.hasNextPage).toBe(false);

  const matching = async (filter: object) => (await page({ filter, first: 100 })).nodes.length;
  expect(await matching({ kinds: ['CONNECTED'] })).toBe(7);
  expect(await matching({ reasons: ['CLIENT_DISCONNECTED'], clientId: 'c3' })).toBe(1);
  expect(await matching({ address: '127.0.0.1', listenerPort: port, protocol: 'MQTT' })).toBe(14);
  expect(await matching({ address: '127.0.0.2' })).toBe(0);
  expect(await matching({ to: new Date(0).toISOString() })).toBe(0);
  expect(codeOf(await page({ first: 1_001 }))).toBe('INVALID');
  expect(codeOf(await page({ after: 'nothing' }))).toBe('INVALID');
});

const REFUSALS = `query ($id: ID!) { broker(id: $id) { refusals { nodes { id reason clientId username count firstAt } } } }`;
const NODE = 'query ($id: ID!) { node(id: $id) { ... on Refusal { reason } } }';

test('a condition with a text that no database stores is one', async () => {
  const { service, brokerId } = await embeddedBroker();
  for (const condition of ['clientId', 'username', 'address']) {
    expect(await eventsOf(service, brokerId, { [condition]: 'a\0b' })).toEqual([]);
  }
  const { data } = await service.graphql(HISTORY, { id: brokerId, clientId: '\0' });
  expect(data.broker.clientHistory.nodes).toEqual([]);
});

test('events and refusals survive a restart of the service, and the time without it is a gap', async () => {
  const before = await embeddedBroker();
  const { brokerId } = before;
  const nobody = { username: 'nobody', password: 'x' };
  for (let attempt = 0; attempt < 3; attempt += 1) await expect(dial(before.port, 'lost', nobody)).rejects.toThrow();
  const refusals = async (service: typeof before.service) =>
    (await service.graphql(REFUSALS, { id: brokerId })).data.broker.refusals.nodes;
  const stored = (await eventsOf(before.service, brokerId)).length;
  await expect
    .poll(async () => {
      const events = await eventsOf(before.service, brokerId, { kinds: ['REFUSED'] });
      return events.reduce((sum, { count }) => sum + count, 0);
    })
    .toBe(3);
  const [old] = await refusals(before.service);
  expect(old).toMatchObject({ reason: 'UNKNOWN_ACCOUNT', clientId: 'lost', count: 3 });
  await before.service.close();

  const { dataDir } = before.service.config;
  const service = await startTestService({ embeddedBroker: true, dataDir });
  await expect
    .poll(() => coverageOf(service, brokerId))
    .toMatchObject({ isComplete: false, gaps: [{ reason: 'NOT_FOLLOWED' }] });
  expect(await refusals(service)).toEqual([old]);
  expect((await service.graphql(NODE, { id: old.id })).data.node).toEqual({ reason: 'UNKNOWN_ACCOUNT' });
  expect((await eventsOf(service, brokerId)).length).toBeGreaterThan(stored);

  const { url } = await service.storage.db.broker.findFirstOrThrow();
  await expect(dial(Number(new URL(url ?? '').port), 'lost', nobody)).rejects.toThrow();
  const [merged, ...others] = await refusals(service);
  expect(others).toEqual([]);
  expect(merged).toMatchObject({ reason: 'UNKNOWN_ACCOUNT', clientId: 'lost', count: 4, firstAt: old.firstAt });
});

test('if events are noticed late, the gap of a restart begins where the last timely ones ended', async () => {
  const broker = await startScriptedBroker(() => []);
  const before = await startTestService();
  const brokerId = await addBroker(before, broker.url);
  await expect.poll(() => broker.filters).toContain('$SYS/broker/log/#');
  let lines = 0;
  const line = (at = Math.floor(Date.now() / 1_000)) => {
    lines += 1;
    const text = `${at}: New client connected from 127.0.0.1:1 as device-${lines} (p5, c1, k60).`;
    return broker.publish('$SYS/broker/log/N', text);
  };
  const logs = () => {
    const timer = setInterval(() => void line(), 200);
    onTestFinished(() => clearInterval(timer));
    return timer;
  };
  const logging = logs();
  const ids = async () => (await eventsOf(before, brokerId)).map(({ clientId }) => clientId);
  await expect.poll(ids).not.toEqual([]);
  clearInterval(logging);
  await expect.poll(ids).toContain(`device-${lines}`);
  const lateFrom = Date.now();
  await line(Math.floor(lateFrom / 1_000) - 30);
  await expect.poll(ids).toContain(`device-${lines}`);
  await before.close();

  logs();
  const service = await startTestService({ dataDir: before.config.dataDir });
  const gaps = async () => (await coverageOf(service, brokerId)).gaps;
  await expect.poll(gaps).toMatchObject([{ reason: 'NOT_FOLLOWED' }]);
  expect(Date.parse((await gaps())[0].from)).toBeLessThanOrEqual(lateFrom - LATE_EVENT_MS);
});
