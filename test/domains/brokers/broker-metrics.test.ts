import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { dynsecDone } from '../../data-plane/broker/dynsec.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { freePort } from '../../support/free-port.ts';
import { ADMIN, mosquittoVersion, startClient, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { subscribe } from '../../support/subscription.ts';

const running = shared(() => startTestService());
const withEmbedded = shared(() => startTestService({ embeddedBroker: true }));

const NUMBERS = `asOf ageSeconds isStale brokerVersion uptimeSeconds subscriptions retainedMessages
  clients { connected total maximum } messages { received sent stored } publish { received dropped } bytes { received sent }
  heap { current } load { one { messagesReceived connections } fifteen { bytesSent } } rates { publishReceivedPerSecond }`;
const WATCH = `subscription ($id: ID!, $after: SafeInt) { brokerMetrics(brokerId: $id, after: $after) {
  kind sequence missed isConnected metrics { ${NUMBERS} }
} }`;
const WATCH_REASON =
  'subscription ($id: ID!) { brokerMetrics(brokerId: $id) { kind sequence reason metrics { asOf } } }';
const READ = `query ($id: ID!) { broker(id: $id) { name currentMetrics { ${NUMBERS} } } }`;
const STATUS = `subscription ($id: ID!, $after: SafeInt) { brokerStatus(projectId: $id, after: $after) {
  kind sequence brokers { brokerId isRemoved isConnected cloudState connection { state since lastError } broker { name } }
} }`;

async function withBroker(url: string, service?: TestService): Promise<{ service: TestService; id: string }> {
  const used = service ?? (await running());
  const { id } = await used.services.brokers.addSelfHosted(used.projectId, { name: 'b', url });
  return { service: used, id };
}

async function tokenFor({ services, projectId }: TestService, brokerIds: readonly string[]): Promise<string> {
  const { secret } = await services.tokens.issue({ projectId, name: 't', role: 'VIEWER', brokerIds }, 'test');
  return secret;
}

test('the numbers of the embedded broker equal those that a client reads, in a query and from the first event on', async () => {
  const service = await withEmbedded();
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8');
  const client = await startClient(url ?? '', { username: 'admin', password });
  const told: Record<string, string> = {};
  client.on('message', (topic, payload) => {
    told[topic] = payload.toString();
  });
  await client.subscribeAsync('$SYS/broker/#');
  const of = (name: string) => Number.parseInt(told[`$SYS/broker/${name}`] ?? '', 10);
  await expect
    .poll(async () => {
      const { currentMetrics: metrics } = (await service.graphql(READ, { id })).data.broker;
      if (metrics === null) return 'nothing yet';
      const { brokerVersion, uptimeSeconds, clients, publish, bytes, heap } = metrics;
      return [
        brokerVersion === told['$SYS/broker/version'],
        uptimeSeconds === of('uptime'),
        clients.connected === of('clients/connected'),
        clients.total === of('clients/total'),
        publish.received === of('publish/messages/received'),
        bytes.sent === of('bytes/sent'),
        heap.current,
      ];
    })
    .toEqual([true, true, true, true, true, true, null]);
  const { brokerMetrics } = await subscribe(service, service.root, WATCH, { id }).until(() => true);
  expect(brokerMetrics).toMatchObject({
    kind: 'SNAPSHOT',
    missed: null,
    isConnected: true,
    metrics: { isStale: false },
  });
  expect(brokerMetrics.metrics.ageSeconds).toBeLessThan(60);
  expect(brokerMetrics.metrics.brokerVersion).toMatch(/^brokergraph embedded /);
});

test('a feed opens while the broker is unreachable, reports its connection, and survives changes of settings', async () => {
  const port = await freePort();
  const { service, id } = await withBroker(`mqtt://127.0.0.1:${port}`);
  const events = subscribe(service, service.root, WATCH, { id });
  const first = await events.until(() => true);
  expect(first.brokerMetrics).toMatchObject({ kind: 'SNAPSHOT', isConnected: false, metrics: null });
  const before = await service.graphql(READ, { id });
  expect(before.data.broker).toMatchObject({ name: 'b', currentMetrics: null });
  expect(before.errors).toMatchObject([
    { path: ['broker', 'currentMetrics'], extensions: { code: 'BROKER_UNREACHABLE' } },
  ]);

  const mosquitto = await startMosquitto();
  await service.services.brokers.update(id, { url: mosquitto.url });
  const came = await events.until(
    ({ brokerMetrics: { metrics, isConnected } }) => isConnected && metrics?.clients.total,
  );
  expect(came.brokerMetrics).toMatchObject({
    kind: 'CHANGE',
    metrics: { brokerVersion: `mosquitto version ${mosquittoVersion()}`, clients: { total: 1 }, isStale: false },
  });
  await events.until(({ brokerMetrics }) => brokerMetrics.metrics.rates.publishReceivedPerSecond !== null);

  await mosquitto.stop();
  const gone = await events.until(({ brokerMetrics }) => !brokerMetrics.isConnected);
  expect(gone.brokerMetrics.metrics).toMatchObject({
    brokerVersion: `mosquitto version ${mosquittoVersion()}`,
    isStale: true,
  });
  const down = await service.graphql(READ, { id });
  expect(down.errors).toBeUndefined();
  expect(down.data.broker.currentMetrics).toMatchObject({ isStale: true, clients: { total: 1 } });
  expect(down.data.broker.currentMetrics.ageSeconds).toBeGreaterThan(0);

  // The new settings may lead to another broker: nothing is sent before that broker publishes a value.
  const other = await startMosquitto();
  await service.services.brokers.update(id, { url: other.url });
  await events.until(({ brokerMetrics }) => brokerMetrics.metrics === null);
  await events.until(({ brokerMetrics }) => brokerMetrics.isConnected && brokerMetrics.metrics?.clients.total === 1);

  await service.services.brokers.remove(id);
  await expect(events.until(() => false)).rejects.toThrow('The subscription ended before the event came');
});

test('a subscriber that reconnects continues after the last received number', async () => {
  const broker = await startScriptedBroker(() => []);
  const { service, id } = await withBroker(broker.url);
  await expect.poll(() => service.services.runtimes.isConnected(id)).toBe(true);
  const events = subscribe(service, service.root, WATCH, { id });
  /** Each in a burst of its own, so that each is a change. */
  const tell = async (count: number) => {
    await expect
      .poll(async () => {
        await broker.publish('$SYS/broker/subscriptions/count', String(count));
        return (await service.graphql(READ, { id })).data.broker.currentMetrics?.subscriptions;
      })
      .toBe(count);
  };
  await events.until(() => true);
  await tell(1);
  const { brokerMetrics: last } = await events.until(({ brokerMetrics }) => brokerMetrics.metrics?.subscriptions === 1);
  events.end();
  await tell(2);
  await tell(3);
  const again = subscribe(service, service.root, WATCH, { id, after: last.sequence });
  const { brokerMetrics: resumed } = await again.until(() => true);
  expect(resumed).toMatchObject({ kind: 'RESUMED', sequence: last.sequence, metrics: null, isConnected: null });
  const { brokerMetrics: next } = await again.until(() => true);
  expect(next).toMatchObject({ kind: 'CHANGE', sequence: last.sequence + 1 });
  await again.until(({ brokerMetrics }) => brokerMetrics.metrics.subscriptions === 3);
  const lost = subscribe(service, service.root, WATCH, { id, after: last.sequence - 1_000 });
  expect((await lost.until(() => true)).brokerMetrics).toMatchObject({
    kind: 'SNAPSHOT',
    metrics: { subscriptions: 3 },
  });
});

test('hostile values do not end a feed, nor its stream in the graph', async () => {
  const broker = await startScriptedBroker(() => []);
  const { service, id } = await withBroker(broker.url);
  const events = subscribe(service, service.root, WATCH, { id });
  await events.until(({ brokerMetrics }) => brokerMetrics.isConnected);
  await expect
    .poll(async () => {
      await broker.publish('$SYS/broker/messages/received', '9007199254740991');
      await broker.publish('$SYS/broker/messages/sent', '1e999');
      await broker.publish('$SYS/broker/messages/stored', 'NaN');
      await broker.publish('$SYS/broker/clients/total', '18446744073708380104');
      await broker.publish('$SYS/broker/heap/current', '1.5');
      await broker.publish('$SYS/broker/load/connections/1min', '1.5');
      await broker.publish('$SYS/broker/version', '"}]\u0000\u2028<script>');
      return (await service.graphql(READ, { id })).data.broker.currentMetrics?.messages;
    })
    .toEqual({ received: Number.MAX_SAFE_INTEGER, sent: null, stored: null });
  const { brokerMetrics } = await events.until(
    ({ brokerMetrics: { metrics } }) => metrics?.messages.received && metrics.brokerVersion,
  );
  expect(brokerMetrics.metrics).toMatchObject({
    clients: { total: null },
    heap: { current: null },
    load: { one: { connections: 1.5 } },
    brokerVersion: '"}]\u0000\u2028<script>',
  });
});

test('only a caller that may see the broker gets its numbers, and the stream ends with that permission', async () => {
  const { service, id } = await withBroker('mqtt://127.0.0.1:1');
  const other = await withBroker('mqtt://127.0.0.1:1', service);
  const viewer = await service.person('VIEWER');
  const stranger = await service.person(null);
  const token = await tokenFor(service, [id]);
  const opens = async (who: string, broker: string) => {
    const events = subscribe(service, who, WATCH, { id: broker });
    const answer = await events
      .until(() => true)
      .then(
        ({ brokerMetrics }) => brokerMetrics.kind,
        (errors: { extensions: { code: string } }[]) => errors[0]?.extensions.code,
      );
    events.end();
    return answer;
  };
  const reads = async (who: string, broker: string) =>
    (await service.graphql(READ, { id: broker }, who)).data.broker?.name;
  expect([await opens(viewer.token, id), await reads(viewer.token, id)]).toEqual(['SNAPSHOT', 'b']);
  expect([await opens(stranger.token, id), await reads(stranger.token, id)]).toEqual(['NOT_FOUND', undefined]);
  expect([await opens(token, id), await reads(token, id)]).toEqual(['SNAPSHOT', 'b']);
  expect([await opens(token, other.id), await reads(token, other.id)]).toEqual(['NOT_FOUND', undefined]);

  const open = subscribe(service, viewer.token, WATCH, { id });
  await open.until(() => true);
  const gauge = async () =>
    /^brokergraph_subscriptions (\d+)$/m.exec(await (await fetch(`${service.url}/metrics`)).text())?.[1];
  await expect.poll(gauge).toBe('1');
  await service.services.projects.removeMember(service.projectId, viewer.email);
  expect(await open.closed).toBe(4403);
  await expect.poll(gauge).toBe('0');
});

test('a token restricted to brokers receives only their events, with numbers of their own', async () => {
  const { service, id } = await withBroker('mqtt://127.0.0.1:1', await startTestService());
  await expect.poll(() => service.services.runtimes.status(id).state).toBe('UNREACHABLE');
  const everything = subscribe(service, service.root, STATUS, { id: service.projectId });
  const some = subscribe(service, await tokenFor(service, [id]), STATUS, { id: service.projectId });
  const all: { kind: string; sequence: number; brokers: { brokerId: string; broker: { name: string } | null }[] }[] =
    [];
  const seen: typeof all = [];
  await everything.until(({ brokerStatus }) => brokerStatus.kind === 'SNAPSHOT');
  await some.until(({ brokerStatus }) => seen.push(brokerStatus) > 0);

  const other = await withBroker('mqtt://127.0.0.1:1', service);
  await everything.until(({ brokerStatus }) => {
    all.push(brokerStatus);
    return brokerStatus.brokers[0].connection.state === 'UNREACHABLE';
  });
  await service.services.brokers.update(id, { name: 'renamed' });
  await service.services.brokers.remove(other.id);
  await service.services.brokers.update(id, { name: 'again' });
  await some.until(({ brokerStatus }) => {
    seen.push(brokerStatus);
    return brokerStatus.brokers[0].broker.name === 'again';
  });
  expect(new Set(seen.flatMap(({ brokers }) => brokers.map(({ brokerId }) => brokerId)))).toEqual(new Set([id]));
  expect(seen.map(({ kind }) => kind)).toEqual(['SNAPSHOT', 'CHANGE', 'CHANGE']);
  const [first = 0, ...rest] = seen.map(({ sequence }) => sequence);
  expect(rest).toEqual([first + 1, first + 2]);
  expect(all.length).toBeGreaterThan(0);

  // It goes on after a number of its own.
  const token = await tokenFor(service, [id]);
  const back = subscribe(service, token, STATUS, { id: service.projectId, after: first });
  expect((await back.until(() => true)).brokerStatus).toMatchObject({ kind: 'RESUMED', brokers: [] });
  expect((await back.until(() => true)).brokerStatus).toMatchObject({ kind: 'CHANGE', sequence: first + 1 });
  await service.services.brokers.remove(id);
  const { brokerStatus } = await some.until(() => true);
  expect(brokerStatus.brokers).toMatchObject([{ brokerId: id, isRemoved: true, broker: null }]);
});

test('the state of a broker that the service runs is sent with its connection', async () => {
  const service = await withEmbedded();
  const { id } = await service.storage.db.broker.findFirstOrThrow();
  await withBroker('mqtt://127.0.0.1:1', service);
  const { brokerStatus } = await subscribe(service, service.root, STATUS, { id: service.projectId }).until(() => true);
  const own = brokerStatus.brokers.find(({ brokerId }: { brokerId: string }) => brokerId === id);
  expect(own).toMatchObject({ cloudState: 'ACTIVE', isRemoved: false });
  expect(
    brokerStatus.brokers.filter(({ cloudState }: { cloudState: string | null }) => cloudState === null),
  ).toHaveLength(1);
});

test('metrics that the account may not read have a reason, until the right comes', async () => {
  const service = await running();
  const { url } = await startMosquitto({ access: 'dynsec' });
  const admin = await startClient(url, ADMIN);
  const acls = ['subscribePattern', 'publishClientSend', 'publishClientReceive'].map((acltype) => ({
    acltype,
    topic: '$CONTROL/dynamic-security/#',
    allow: true,
  }));
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'access only', acls },
    { command: 'createClient', username: 'weak', password: 'weak', roles: [{ rolename: 'access only' }] },
  );
  const account = { name: 'weak', url, username: 'weak', password: 'weak' };
  const { id } = await service.services.brokers.addSelfHosted(service.projectId, account);
  const live = subscribe(service, service.root, WATCH_REASON, { id });
  const refused = await live.until(({ brokerMetrics }) => brokerMetrics.reason !== null);
  expect(refused.brokerMetrics).toMatchObject({
    metrics: null,
    reason: expect.stringMatching(/may not read \$SYS\/#/),
  });
  const read = async () =>
    (await service.graphql('query ($id: ID!) { broker(id: $id) { metricsReason currentMetrics { asOf } } }', { id }))
      .data.broker;
  expect(await read()).toEqual({ metricsReason: refused.brokerMetrics.reason, currentMetrics: null });
  // Through the service, and without a disconnect of its account.
  const { data } = await service.graphql(
    'mutation ($input: SetDefaultAclInput!) { setDefaultAcl(input: $input) { outcome } }',
    { input: { brokerId: id, change: { subscribe: true } } },
  );
  expect(data.setDefaultAcl.outcome).toBe('APPLIED');
  await live.until(({ brokerMetrics }) => brokerMetrics.reason === null && brokerMetrics.metrics !== null);
  expect(await read()).toEqual({ metricsReason: null, currentMetrics: { asOf: expect.any(String) } });
});
