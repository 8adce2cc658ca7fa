import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { generate } from 'mqtt-packet';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_MAX_ATTEMPTS } from '../../../src/protocol/mqtt/attempt-slots.ts';
import { connectionAttempts } from '../../../src/protocol/mqtt/connection-attempts.ts';
import { startLateBroker } from '../../support/late-broker.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';

test('a failing listener does not prevent new settings of a broker', async () => {
  const { services, projectId } = await startTestService();
  const { id } = await services.brokers.addSelfHosted(projectId, { name: 'b', url: 'mqtt://127.0.0.1:1' });
  await expect.poll(() => services.runtimes.status(id).state).toBe('UNREACHABLE');
  let opened = 0;
  services.runtimes.onRuntime((_runtime, change) => {
    if (change === 'CLOSING') throw new Error('a bug');
    opened += 1;
  });
  await services.brokers.update(id, { url: 'mqtt://127.0.0.1:2' });
  // Once for the one that was open already, once for the one with the new settings.
  await expect.poll(() => opened).toBe(2);
  await services.brokers.remove(id);
  await expect.poll(() => services.runtimes.status(id).state).toBe('CLOSED');
});

test('a broker that breaks each connection is one warning in the log, with its name', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.once('data', () => socket.end(generate({ cmd: 'connack', sessionPresent: false, returnCode: 0 })));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { services, projectId } = await startTestService({ log });
  const { port } = server.address() as AddressInfo;
  const { id } = await services.brokers.addSelfHosted(projectId, { name: 'b', url: `mqtt://127.0.0.1:${port}` });
  await expect.poll(() => connections).toBeGreaterThan(9);
  const about = () => lines.filter(({ msg }) => /^the connection to a broker/.test(String(msg)));
  await expect.poll(about).toHaveLength(1);
  const since = expect.stringMatching(/^20.*Z$/);
  expect(about()).toMatchObject([{ level: 40, brokerId: id, name: 'b', projectId, state: 'UNREACHABLE', since }]);
});

test('equal secrets keep the connection, and different ones cause a reconnect', async () => {
  const { services, projectId, rest, root } = await startTestService();
  const mosquitto = await startMosquitto();
  const settings = { url: mosquitto.url, username: 'gateway', password: 'secrét' };
  const { id, sealedPassword } = await services.brokers.addSelfHosted(projectId, { name: 'b', ...settings });
  await expect.poll(() => services.runtimes.status(id).state).toBe('CONNECTED');
  const changes: string[] = [];
  services.runtimes.onRuntime((_runtime, change) => changes.push(change));
  const path = `/api/projects/${projectId}/brokers/${id}`;
  expect((await rest('PUT', path, root, { name: 'renamed', ...settings })).status).toBe(204);
  expect(services.brokers.visibleIn(projectId, null)[0]).toMatchObject({ name: 'renamed', sealedPassword });
  expect((await services.brokers.update(id, settings)).sealedPassword).toBe(sealedPassword);
  expect(changes).toEqual(['OPENED']);
  const other = await services.brokers.update(id, { ...settings, password: 'sécret' });
  expect(other.sealedPassword).not.toBe(sealedPassword);
  await expect.poll(() => changes).toEqual(['OPENED', 'CLOSING', 'OPENED']);
  expect((await services.brokers.update(id, { ...settings, password: null })).sealedPassword).toBeNull();
});

const STATUS = `subscription ($id: ID!) { brokerStatus(projectId: $id) {
  kind brokers { brokerId isRemoved connection { state since lastError } }
} }`;

test('the state of a broker and its time are true from the first event on', async () => {
  const service = await startTestService();
  const before = Date.now() - 1_000;
  const events = subscribe(service, service.root, STATUS, { id: service.projectId });
  await events.until(({ brokerStatus }) => brokerStatus.kind === 'SNAPSHOT');
  const { id } = await service.services.brokers.addSelfHosted(service.projectId, {
    name: 'b',
    url: 'mqtt://127.0.0.1:1',
  });
  const seen: { state: string; since: string }[] = [];
  await events.until(({ brokerStatus: { brokers } }) => {
    seen.push(...brokers.map(({ connection }: { connection: (typeof seen)[number] }) => connection));
    return brokers[0].connection.state === 'UNREACHABLE';
  });
  await service.services.brokers.remove(id);
  await events.until(({ brokerStatus: { brokers } }) => {
    seen.push(...brokers.map(({ connection }: { connection: (typeof seen)[number] }) => connection));
    return brokers[0].isRemoved;
  });
  for (const { since } of seen) expect(Date.parse(since)).toBeGreaterThan(before);
  expect(seen.map(({ state }) => state).slice(0, -1)).not.toContain('CLOSED');
});

const STREAM = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { id } } }';

test('a process connects to a few brokers at a time, in all its threads, at the start and after a cut', async () => {
  const broker = await startLateBroker();
  const { services, projectId, graphql, root, url } = await startTestService({ env: { MAX_CONNECTION_ATTEMPTS: '4' } });
  onTestFinished(() => connectionAttempts.setMaximum(DEFAULT_MAX_ATTEMPTS));
  const readiness = async () => (await fetch(`${url}/readyz`)).json();
  expect(await readiness()).toEqual({ status: 'ready', connectedBrokers: null });
  const ids: string[] = [];
  for (let n = 0; n < 30; n += 1)
    ids.push((await services.brokers.addSelfHosted(projectId, { name: `b ${n}`, url: broker.url })).id);
  await expect.poll(() => broker.waitingCount()).toBe(4);
  expect(await readiness()).toEqual({ status: 'ready', connectedBrokers: 0 });
  broker.respond();
  await expect.poll(() => broker.connectedCount()).toBe(30);
  for (const brokerId of ids.slice(0, 5)) {
    const input = { brokerId, name: 'stream', sourceTopic: 'a', targetTopic: 'b' };
    expect((await graphql(STREAM, { input }, root)).errors).toBeUndefined();
  }
  // A stream has two connections.
  await expect.poll(() => broker.connectedCount()).toBe(40);
  await expect.poll(readiness).toEqual({ status: 'ready', connectedBrokers: 1 });
  broker.cut();
  await expect.poll(() => broker.attemptCount()).toBe(80);
  await expect.poll(() => broker.connectedCount()).toBe(40);
  expect(broker.mostWaiting()).toBe(4);
  expect(broker.attemptCount()).toBe(80);
});

test('a service that stops starts none of the connections that wait', async () => {
  const broker = await startLateBroker();
  const { services, projectId, close } = await startTestService({ env: { MAX_CONNECTION_ATTEMPTS: '4' } });
  onTestFinished(() => connectionAttempts.setMaximum(DEFAULT_MAX_ATTEMPTS));
  for (let n = 0; n < 10; n += 1) await services.brokers.addSelfHosted(projectId, { name: `b ${n}`, url: broker.url });
  await expect.poll(() => broker.attemptCount()).toBe(4);
  let opened = 0;
  const count = () => (opened += 1);
  diagnostics.subscribe('net.client.socket', count);
  await close();
  diagnostics.unsubscribe('net.client.socket', count);
  // A pool of the database may open some, too.
  expect(opened).toBeLessThan(4);
});
