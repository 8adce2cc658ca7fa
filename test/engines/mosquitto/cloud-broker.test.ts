import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { isSince21 } from '../../../src/engines/mosquitto/mosquitto-version.ts';
import { mosquittoVersion, startClient } from '../../support/mosquitto.ts';
import type { TestService } from '../../support/service.ts';
import {
  administratorOf,
  ask,
  createBroker,
  folderOf,
  pidOf,
  portsOf,
  startRunning,
  urlOf,
} from './cloud-mosquitto.ts';

const SET_STATE = `mutation ($input: SetTargetStateInput!) {
  setTargetState(input: $input) { broker { ... on CloudBroker { targetState } } }
}`;

const setState = (service: TestService, brokerId: string, targetState: string, token = service.root) =>
  service.graphql(SET_STATE, { input: { brokerId, targetState } }, token);

test('a killed Mosquitto is restarted; it can be stopped, started and removed, and each state is reported', async () => {
  const service = await startRunning();
  const { id, states } = await createBroker(service, { description: 'of the line', location: 'hel1' });
  expect(states.told).toEqual(['NEW', 'PROVISIONING', 'ACTIVE']);
  const url = await urlOf(service, id);
  process.kill(pidOf(service, id), 'SIGKILL');
  const failed = await states.until('ERROR');
  expect(failed.broker.problem).toBe('Mosquitto was ended by SIGKILL');
  expect((await states.until('ACTIVE')).broker).toMatchObject({ url, problem: null });
  await states.connected();

  const pid = pidOf(service, id);
  await setState(service, id, 'INACTIVE');
  const { broker } = await states.until('INACTIVE');
  expect(Date.parse(broker.shutdownAt)).toBeGreaterThanOrEqual(Date.parse(broker.deployedAt));
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  await expect(ask(service, id, 'broker', 'listListeners')).rejects.toThrow(
    'The broker "Plant" is stopped: start it first',
  );
  await setState(service, id, 'ACTIVE');
  expect((await states.until('ACTIVE')).broker).toMatchObject({ url, shutdownAt: null });
  expect(states.told.slice(3)).toEqual(['ERROR', 'ACTIVE', 'SHUTTING_DOWN', 'INACTIVE', 'PROVISIONING', 'ACTIVE']);

  const last = pidOf(service, id);
  await service.graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id });
  expect(() => process.kill(last, 0)).toThrow('ESRCH');
  expect(existsSync(folderOf(service, id))).toBe(false);
  await states.removed();
});

test('where clients come by TLS only this service has a listener of its own; what is wanted of brokers may change at any time', async () => {
  const service = await startRunning();
  for (const engine of ['EMBEDDED', 'MOSQUITTO']) {
    const listeners = [{ hasTls: true }, { protocol: 'WEBSOCKET' }];
    const secure = await createBroker(service, { engine, listeners });
    const ports = await portsOf(service, secure.id);
    expect(Object.keys(ports)).toEqual(['1', '2']);
    const own = Number(new URL(await urlOf(service, secure.id)).port);
    expect(Object.values(ports)).not.toContain(own);
    expect(Object.values(ports)).not.toContain(0);
    await startClient(`ws://127.0.0.1:${ports[2]}`, administratorOf(service, secure.id));

    const { data } = await service.graphql(
      'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name: engine, engine } },
    );
    const { id } = data.createCloudBroker.broker;
    // Not waited for: it is still being started.
    await Promise.all(['INACTIVE', 'ACTIVE', 'INACTIVE', 'ACTIVE'].map((state) => setState(service, id, state)));
    await setState(service, id, 'INACTIVE');
    const state = async () => (await service.storage.db.broker.findUniqueOrThrow({ where: { id } })).state;
    await expect.poll(state).toBe('INACTIVE');
    expect(existsSync(join(folderOf(service, id), 'mosquitto.pid'))).toBe(false);
    await setState(service, id, 'ACTIVE');
    // Removed while it starts.
    await service.graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id });
    expect(existsSync(folderOf(service, id))).toBe(false);
    expect(service.services.cloudBrokers.listenersOf(id)).toBeNull();
  }
  // Closed while one starts: nothing is left that runs.
  await service.graphql(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { input: { projectId: service.projectId, name: 'last', engine: 'MOSQUITTO' } },
  );
  const { id } = await service.storage.db.broker.findFirstOrThrow({ where: { name: 'last' } });
  await service.close();
  expect(existsSync(join(folderOf(service, id), 'mosquitto.pid'))).toBe(false);
});

test('settings of Mosquitto 2.1 are applied, and brokers that lack them are refused with the reason', async () => {
  const service = await startRunning();
  const settings = {
    maxConnections: 20,
    listeners: [{ protocolVersions: ['V5'] }, { proxyProtocol: 'V1' }],
  };
  const issuesOf = async (input: Record<string, unknown>) => {
    const { errors } = await service.graphql(
      'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name: 'x', engine: 'MOSQUITTO', ...input } },
    );
    return (errors?.[0]?.extensions.info as { issues: unknown } | undefined)?.issues;
  };
  const refused = (reason: string) =>
    ['maxConnections', 'listeners.0.protocolVersions', 'listeners.1.proxyProtocol'].map((path) => ({
      path: `input.${path}`,
      reason,
    }));
  expect(await issuesOf({ ...settings, engine: 'EMBEDDED' })).toEqual(
    refused('is a setting of the engine MOSQUITTO only'),
  );
  const wrong = { maxClients: 19, listeners: [{ protocolVersions: [] }, { proxyProtocol: 'V2', hasTls: true }] };
  expect(await issuesOf(wrong)).toEqual(
    expect.arrayContaining([
      { path: 'input.maxClients', reason: expect.stringContaining('from 20') },
      { path: 'input.listeners.0.protocolVersions', reason: 'must have an entry' },
      { path: 'input.listeners.1.proxyProtocol', reason: expect.stringContaining('needs hasTls: false') },
    ]),
  );
  const version = mosquittoVersion();
  if (!isSince21(version)) {
    expect(await issuesOf(settings)).toEqual(refused(`needs Mosquitto 2.1 or newer; this is ${version}`));
    return;
  }
  const { id } = await createBroker(service, settings);
  const ports = await portsOf(service, id);
  const account = { ...administratorOf(service, id), reconnectPeriod: 0 };
  const url = `mqtt://127.0.0.1:${ports[1]}`;
  await expect(startClient(url, { ...account, protocolVersion: 4 })).rejects.toThrow('Unacceptable protocol version');
  await startClient(url, { ...account, protocolVersion: 5 });
  const proxied = new MqttClient(
    () => {
      const socket = connect(ports[2] ?? 0, '127.0.0.1');
      socket.write('PROXY TCP4 203.0.113.7 127.0.0.1 40000 1883\r\n');
      return socket;
    },
    { ...account, clientId: 'proxied' },
  );
  onTestFinished(() => proxied.endAsync(true).then(() => undefined));
  await new Promise<void>((resolve) => proxied.once('connect', () => resolve()));
  const read = async () =>
    (
      await service.graphql(
        `query ($id: ID!) { broker(id: $id) {
          listeners { number protocolVersions proxyProtocol }
          connectedClients(filter: { value: "proxied" }) { nodes { address } }
          ... on CloudBroker { maxClients maxConnections }
        } }`,
        { id },
      )
    ).data.broker;
  await expect.poll(read).toEqual({
    listeners: [
      { number: 1, protocolVersions: ['V5'], proxyProtocol: null },
      { number: 2, protocolVersions: null, proxyProtocol: 'V1' },
    ],
    connectedClients: { nodes: [{ address: '203.0.113.7' }] },
    maxClients: null,
    maxConnections: 20,
  });
  const others = Array.from({ length: 20 }, () => startClient(url, { ...account, protocolVersion: 5 }));
  const outcomes = new Set((await Promise.allSettled(others)).map(({ status }) => status));
  expect(outcomes).toEqual(new Set(['fulfilled', 'rejected']));
});

test('a project has a bound of its own, and low ports are for root administrators', async () => {
  const service = await startRunning({ MAX_CLOUD_BROKERS_PER_PROJECT: '2' });
  const admin = await service.person('ADMIN');
  const create = async (input: Record<string, unknown>, token?: string, projectId = service.projectId) => {
    const { errors } = await service.graphql(
      'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
      { input: { projectId, name: 'x', ...input } },
      token,
    );
    return errors?.[0]?.message ?? null;
  };
  const low = { listeners: [{ port: 1023 }] };
  expect(await create(low, admin.token)).toContain('input.listeners.0.port: must be 0 or at least 1024');
  // The first broker of the service is in this project.
  expect(await create({}, admin.token)).toBeNull();
  expect(await create({}, admin.token)).toBe(
    'input: there are 2 in the project, as many as MAX_CLOUD_BROKERS_PER_PROJECT allows',
  );
  expect(await create({})).toBeNull();
  const { data } = await service.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }');
  const other = data.createProject.project.id as string;
  const second = await service.person('ADMIN', other);
  expect(await create({}, second.token, other)).toBeNull();
});

test('what is asked for is checked: names, places, ports, listeners, roles, how many there are, and that the engine is there', async () => {
  const service = await startRunning({ MOSQUITTO_BINARY: '/nowhere/mosquitto', MAX_CLOUD_BROKERS: '2' });
  const create = (input: Record<string, unknown>, token = service.root) =>
    service.graphql(
      'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
      { input: { projectId: service.projectId, name: 'x', ...input } },
      token,
    );
  const listeners = [
    { port: 70_000 },
    { port: 1_883 },
    { protocol: 'WEBSOCKET', port: 1_883 },
    { requiresCertificate: true },
  ];
  const refused = await create({ name: ' ', location: 'mars', engine: 'MOSQUITTO', listeners });
  expect(refused.errors?.[0]?.extensions).toMatchObject({
    code: 'INVALID',
    info: {
      issues: [
        { path: 'input.name' },
        { path: 'input.location', reason: 'must be one of fsn1, nbg1, hel1, ash, hil' },
        { path: 'input.listeners.0.port' },
        { path: 'input.listeners.2.port', reason: 'is that of input.listeners.1, too' },
        { path: 'input.listeners.3.requiresCertificate', reason: 'needs hasTls: true' },
        { path: 'input.engine', reason: 'There is no program /nowhere/mosquitto (MOSQUITTO_BINARY)' },
      ],
    },
  });
  expect((await create({ listeners: [] })).errors?.[0]?.extensions.code).toBe('INVALID');
  const editor = await service.person('EDITOR');
  expect((await create({}, editor.token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  const made = await Promise.all([create({}), create({})]);
  const errors = made.flatMap((answer) => answer.errors ?? []);
  expect(errors.map(({ message }) => message)).toEqual([
    'input: there are 2 already, as many as MAX_CLOUD_BROKERS allows',
  ]);
  const [id] = made.flatMap(({ data }) => (data ? [data.createCloudBroker.broker.id as string] : []));
  const viewer = await service.person('VIEWER');
  expect((await setState(service, id ?? '', 'INACTIVE', viewer.token)).errors?.[0]?.extensions.code).toBe(
    'NOT_ALLOWED',
  );
  expect((await setState(service, id ?? '', 'INACTIVE', editor.token)).data.setTargetState.broker.targetState).toBe(
    'INACTIVE',
  );
  const { id: other } = (
    await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
      name: 'other',
      url: 'mqtt://127.0.0.1:1',
    })
  ).body;
  expect((await setState(service, other, 'INACTIVE')).errors?.[0]?.extensions.code).toBe('INVALID');
});

test('a broker on an engine that is gone is in ERROR with the reason, and runs when it is asked for again and the engine is back', async () => {
  const service = await startRunning();
  const { id, states } = await createBroker(service);
  await service.close();
  const dataDir = service.config.dataDir;
  const env = { DATABASE_URL: service.config.databaseUrl ?? '' };
  const without = await startRunning({ ...env, MOSQUITTO_BINARY: 'no-such-mosquitto' }, dataDir);
  const { data } = await without.graphql(
    'query ($id: ID!) { broker(id: $id) { isConnected ... on CloudBroker { state problem } } }',
    { id },
  );
  expect(data.broker).toMatchObject({
    isConnected: false,
    state: 'ERROR',
    problem:
      'There is no program "no-such-mosquitto" on this machine: install Mosquitto, or say where it is by MOSQUITTO_BINARY',
  });
  expect(states.told.at(-1)).toBe('ACTIVE');
  await without.close();
  const again = await startRunning(env, dataDir);
  const ports = await portsOf(again, id);
  expect(await urlOf(again, id)).toBe(`mqtt://127.0.0.1:${ports[1]}`);
  await startClient(await urlOf(again, id), administratorOf(again, id));
});
