import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { linesOf, readRecording } from '../../protocol/mosquitto-log/recordings.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { useSqlite } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';
import { connected, startTestService } from '../../support/service.ts';
import { failing } from '../clusters/failing.ts';
import { addBroker } from '../messages/message-world.ts';
import { closedAfter, openedAfter, problemsOf } from './problem-world.ts';

const SET_STATE = 'mutation ($input: SetTargetStateInput!) { setTargetState(input: $input) { broker { id } } }';
const DELETE = 'mutation ($input: DeleteBrokerInput!) { deleteBroker(input: $input) { deletedBrokerId } }';
const STATE = 'query ($id: ID!) { broker(id: $id) { ... on CloudBroker { state } } }';

/** The cloud broker, the broker with a log, the broker that comes and goes. */
const MAX_LINKS = 3;
const FLAPS = 100;
const OFTEN = { timeout: 30_000, interval: 20 };
const OF_SERVICE = { subjectName: hostname(), project: null, broker: null, subject: null };

async function hold(port: number) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return server;
}

test('what the service itself lacks, and brokers that do not run or come and go, each open one problem that closes afterwards', async () => {
  useSqlite();
  const port = await freePort();
  const env = { MAX_BROKER_LINKS: String(MAX_LINKS), MQTT_PORT: String(port) };
  const service = await startTestService({ embeddedBroker: true, env });
  const { projectId, graphql } = service;
  const of = (id: string) => ({ subjectId: id, broker: { id } });

  const [log, mosquitto] = [await startScriptedBroker(() => []), await startMosquitto()];
  const { id: ownId } = await service.storage.db.broker.findFirstOrThrow();
  const setState = (targetState: string) => graphql(SET_STATE, { input: { brokerId: ownId, targetState } });
  const stateIs = (state: string) =>
    expect.poll(async () => (await graphql(STATE, { id: ownId })).data.broker.state).toBe(state);
  const lines = linesOf(readRecording('2.1.2'), 'connect/v3.1/tcp/clean');
  // Before the service listens: a log that is silent for seconds is looked at again after ten.
  await log.publish('$SYS/broker/version', 'mosquitto version 2.2.0', true);
  const logging = setInterval(() => {
    // As a later version may write them.
    for (const [level, text] of lines)
      void log.publish(`$SYS/broker/log/${level}`, `1700000000: ${text.replace('New', 'Another')}`);
  }, 200);
  onTestFinished(() => clearInterval(logging));
  const logPort = Number(new URL(log.url).port);
  const toLog = await startRelay(logPort);
  const logId = await addBroker(service, toLog.url);
  let relay = await startRelay(mosquitto.port);
  const relayPort = Number(new URL(relay.url).port);
  const flappingId = await addBroker(service, relay.url);
  await connected(service, ownId);
  const { runtimes } = service.services;
  const flap = async () => {
    for (let count = 0; count < FLAPS; count += 1) {
      relay.stop();
      await expect.poll(() => runtimes.status(flappingId).state, OFTEN).toBe('UNREACHABLE');
      relay = await startRelay(mosquitto.port, { at: relayPort });
      await expect.poll(() => runtimes.isConnected(flappingId), OFTEN).toBe(true);
    }
  };

  await expect.poll(() => log.filters).toContain('$SYS/broker/log/#');
  const logAt = Date.now();

  const works = failing(service, 'INSERT ON "AuditEntry"');
  const auditAt = Date.now();
  await graphql('mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }', {
    input: { projectId, description: 'changed' },
  });

  await setState('INACTIVE');
  await stateIs('INACTIVE');
  const holder = await hold(port);
  const portAt = Date.now();
  await setState('ACTIVE');

  const flapAt = Date.now();
  const flapping = flap();
  flapping.catch(() => undefined);
  expect(await openedAfter(service, 'AUDIT_WAITING', { causedAt: auditAt })).toMatchObject({
    ...OF_SERVICE,
    severity: 'CRITICAL',
    detail: expect.stringMatching(/: [1-9]\d*\.$/),
  });
  expect(await openedAfter(service, 'CLOUD_BROKER_ERROR', { causedAt: portAt })).toMatchObject({
    ...of(ownId),
    detail: expect.stringContaining(`port ${port} is in use`),
  });
  const unread = await openedAfter(service, 'LOG_NOT_UNDERSTOOD', { causedAt: logAt });
  expect(unread).toMatchObject({ ...of(logId), detail: expect.stringContaining('Another connection') });
  const ofFlapping = { brokerIds: [flappingId], kinds: ['BROKER_UNREACHABLE'] };
  const { id: flappingProblem } = await openedAfter(service, 'BROKER_UNREACHABLE', { causedAt: flapAt, ...ofFlapping });

  const limitAt = Date.now();
  const extra: string[] = [];
  for (const name of ['extra 1', 'extra 2']) {
    const path = `/api/projects/${projectId}/brokers`;
    const { body } = await service.rest('POST', path, service.root, { name, url: mosquitto.url });
    extra.push(body.id);
  }
  expect(await openedAfter(service, 'LINK_LIMIT', { causedAt: limitAt })).toMatchObject(OF_SERVICE);
  for (const brokerId of extra) await graphql(DELETE, { input: { brokerId } });
  const repairedAt = Date.now();
  works();
  holder.close();
  await setState('ACTIVE');
  clearInterval(logging);
  // Another version comes with a restart.
  await log.publish('$SYS/broker/version', 'mosquitto version 2.1.2', true);
  toLog.stop();
  await startRelay(logPort, { at: Number(new URL(toLog.url).port) });
  for (const kind of ['AUDIT_WAITING', 'CLOUD_BROKER_ERROR', 'LOG_NOT_UNDERSTOOD', 'LINK_LIMIT']) {
    await closedAfter(service, kind, repairedAt);
  }
  await flapping;
  await closedAfter(service, 'BROKER_UNREACHABLE', Date.now());
  const [one, ...others] = await problemsOf(service, { ...ofFlapping, isOpen: null });
  expect([one.id, others]).toEqual([flappingProblem, []]);
  // Those before it opened are one.
  expect(one.count).toBeGreaterThan(FLAPS / 2);
  expect(one.count).toBeLessThanOrEqual(FLAPS);
});
