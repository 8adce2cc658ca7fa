import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { temporaryFolder } from '../../support/database.ts';
import { startClient, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';

const running = shared(() => startTestService());

const READ = `query ($id: ID!, $from: DateTime, $to: DateTime, $maxPoints: Int! = 300) { broker(id: $id) {
  metrics(from: $from, to: $to, maxPoints: $maxPoints) {
    from stepSeconds problem clients { mean min max total } messagesIn { mean total } bytesOut { total } refusals { total }
  }
} }`;
/** A sample is at least nine seconds after the one before. */
const POLL = { timeout: 120_000, interval: 500 };

/** Commands of this service are messages, too. */
const COMMANDS = 60;

async function total(service: TestService, id: string): Promise<number> {
  const { data, errors } = await service.graphql(READ, { id });
  expect(errors).toBeUndefined();
  return data.broker.metrics.messagesIn.total ?? -1;
}

async function publish(url: string, account: object, messages: number): Promise<void> {
  const client = await startClient(url, account);
  await Promise.all(Array.from({ length: messages }, () => client.publishAsync('t', 'message', { qos: 1 })));
  await client.endAsync();
}

/** At least six samples, and two starts. */
const timeout = 400_000;

test('totals equal what was published, over restarts of the broker and of the service', { timeout }, async () => {
  const dataDir = temporaryFolder();
  const mosquitto = await startMosquitto();
  const start = () => startTestService({ dataDir, embeddedBroker: true });
  let service = await start();
  const { id: plain } = await service.services.brokers.addSelfHosted(service.projectId, {
    name: 'plain',
    url: mosquitto.url,
  });
  const { id: embedded, url } = await service.storage.db.broker.findFirstOrThrow({ where: { type: 'CLOUD' } });
  const account = { username: 'admin', password: readFileSync(passwordFile(dataDir, embedded), 'utf8') };
  const isPublished = async (id: string, messages: number) => {
    await expect.poll(() => total(service, id), POLL).toBeGreaterThanOrEqual(messages);
    expect(await total(service, id)).toBeLessThanOrEqual(messages + COMMANDS);
  };
  // Counters are compared with a first sample.
  await Promise.all(
    [plain, embedded].map((id) => expect.poll(() => total(service, id), POLL).toBeGreaterThanOrEqual(0)),
  );
  await Promise.all([publish(mosquitto.url, {}, 500), publish(url ?? '', account, 500)]);
  await Promise.all([isPublished(plain, 500), isPublished(embedded, 500)]);

  await service.close();
  await publish(mosquitto.url, {}, 200);
  service = await start();
  const again = await service.storage.db.broker.findFirstOrThrow({ where: { id: embedded } });
  await publish(again.url ?? '', account, 300);
  await Promise.all([isPublished(plain, 700), isPublished(embedded, 800)]);

  await mosquitto.stop();
  await mosquitto.start();
  await publish(mosquitto.url, {}, 100);
  await isPublished(plain, 800);

  const { metrics } = (await service.graphql(READ, { id: plain })).data.broker;
  expect(metrics).toMatchObject({ stepSeconds: 20, problem: null, clients: { total: null } });
  expect(metrics.clients.mean.length).toBeLessThanOrEqual(300);
  expect(metrics.clients.mean[0]).toBeNull();
  expect(Math.max(...metrics.clients.max)).toBeGreaterThanOrEqual(1);
  expect(metrics.bytesOut.total).toBeGreaterThan(0);
});

test('a range must be possible, and a viewer of another broker sees none of it', async () => {
  const service = await running();
  const { services, projectId } = service;
  const add = (name: string) => services.brokers.addSelfHosted(projectId, { name, url: 'mqtt://127.0.0.1:1' });
  const [{ id }, other] = [await add('a'), await add('b')];
  const { secret } = await services.tokens.issue({ projectId, name: 't', role: 'VIEWER', brokerIds: [id] }, 'test');
  const seen = await service.graphql(READ, { id }, secret);
  expect(seen.errors).toBeUndefined();
  expect(seen.data.broker.metrics.messagesIn).toEqual({ mean: expect.any(Array), total: null });
  expect(seen.data.broker.metrics.messagesIn.mean.every((mean: unknown) => mean === null)).toBe(true);
  expect((await service.graphql(READ, { id: other.id }, secret)).data.broker).toBeNull();
  const now = new Date().toISOString();
  for (const range of [
    { from: now, to: now },
    { from: '2000-01-01T00:00:00Z' },
    { maxPoints: 0 },
    { maxPoints: 2_001 },
  ]) {
    const { errors } = await service.graphql(READ, { id, ...range });
    expect(errors).toMatchObject([{ extensions: { code: 'INVALID' } }]);
  }
});

test('the metrics of a page of brokers are read at once', async () => {
  const service = await running();
  const { services, projectId } = service;
  const count = 30;
  for (let nth = 0; nth < count; nth++)
    await services.brokers.addSelfHosted(projectId, { name: `p${nth}`, url: 'mqtt://127.0.0.1:1' });
  const page = `query ($id: ID!) { project(id: $id) { brokers(first: 100) { nodes {
    metrics(maxPoints: 60) { messagesIn { mean } }
  } } } }`;
  const { data, errors } = await service.graphql(page, { id: projectId });
  expect(errors).toBeUndefined();
  expect(data.project.brokers.nodes.length).toBeGreaterThanOrEqual(count);
  // The record of events of a new broker queries the history, too.
  const queries = async () => {
    const before = services.history.counts.queries;
    await service.graphql(page, { id: projectId });
    return services.history.counts.queries - before;
  };
  await expect.poll(queries).toBe(1);
});

const FLEET = `{ fleetMetrics {
  from stepSeconds brokers clients messagesIn refusals refused
  current { brokers clients messagesIn messagesOut }
} }`;

test('the last hour of the visible brokers is added up, with the number of measured ones', async () => {
  const service = await startTestService();
  const mosquittos = [await startMosquitto(), await startMosquitto()];
  const ids: string[] = [];
  for (const { url } of mosquittos)
    ids.push((await service.services.brokers.addSelfHosted(service.projectId, { name: 'm', url })).id);
  await service.services.brokers.addSelfHosted(service.projectId, { name: 'away', url: 'mqtt://127.0.0.1:1' });
  for (const [nth, { url }] of mosquittos.entries()) await startClient(url, { clientId: `dev-${nth}` });
  const read = async (token?: string) => (await service.graphql(FLEET, {}, token)).data.fleetMetrics;
  const last = <Value>(values: readonly Value[]) => values.findLast((value) => value !== null);
  await expect.poll(async () => Math.max(...(await read()).brokers), POLL).toBe(2);
  const all = await read();
  expect(all).toMatchObject({ stepSeconds: 60, refusals: expect.any(Array) });
  expect([all.brokers, all.clients, all.messagesIn].map(({ length }) => length)).toEqual([61, 61, 61]);
  expect(all.clients[0]).toBeNull();
  expect(Date.parse(all.from)).toBeLessThanOrEqual(Date.now() - 3_600_000);
  // This service and a client, of each.
  await expect.poll(async () => last((await read()).clients), POLL).toBeGreaterThanOrEqual(2);

  const restricted = { projectId: service.projectId, name: 't', role: 'VIEWER', brokerIds: [ids[0] ?? ''] } as const;
  const { secret } = await service.services.tokens.issue(restricted, 'test');
  expect(Math.max(...(await read(secret)).brokers)).toBe(1);
});

test('the current numbers of the fleet are known as soon as brokers publish them, without those that are away', async () => {
  const service = await startTestService();
  const mosquittos = [await startMosquitto(), await startMosquitto()];
  for (const { url } of mosquittos) await service.services.brokers.addSelfHosted(service.projectId, { name: 'm', url });
  await service.services.brokers.addSelfHosted(service.projectId, { name: 'away', url: 'mqtt://127.0.0.1:1' });
  const current = async () => (await service.graphql(FLEET)).data.fleetMetrics.current;
  await expect.poll(current, POLL).toMatchObject({ brokers: 2, messagesIn: expect.any(Number) });
  // This service is a client of both.
  expect((await current()).clients).toBeGreaterThanOrEqual(2);
  await mosquittos[0]?.stop();
  await expect.poll(current, POLL).toMatchObject({ brokers: 1 });
});

test('the refusals of the last hour are added up, and unknown if no broker reports them', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const refused = async () => (await service.graphql(FLEET)).data.fleetMetrics.refused;
  await expect.poll(refused, POLL).toEqual(expect.any(Number));
  const plain = await startTestService();
  expect((await plain.graphql(FLEET)).data.fleetMetrics.refused).toBeNull();
});
