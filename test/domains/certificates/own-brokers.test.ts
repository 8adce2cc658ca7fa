import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { connectSecure, outcomeOf, servedBy } from '../../data-plane/broker/tls.ts';
import { createAuthority } from '../../support/certificates.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { isLong } from '../../support/suite.ts';
import { certificateWorld } from './certificate-world.ts';

const authority = createAuthority({ name: 'Plant' });
const server = authority.issue({ name: 'broker' });
const renewed = authority.issue({ name: 'broker' });
const factory = createAuthority({ name: 'Factory' });
const device = factory.issue({ name: 'meter' });

const LISTENERS = `listeners {
  number port hasTls requiresCertificate protocol certificates { filename } server { filename fingerprint256 }
}`;

interface Told {
  readonly number: number;
  readonly port: number;
  readonly certificates: readonly { readonly filename: string }[];
  readonly server: { readonly filename: string } | null;
}

async function ownWorld(engine: 'EMBEDDED' | 'MOSQUITTO' = 'EMBEDDED') {
  const world = await certificateWorld({ embeddedBroker: true });
  const { service } = world;
  const listeners = [
    { protocol: 'MQTT' },
    { protocol: 'MQTT', hasTls: true },
    { protocol: 'WEBSOCKET', hasTls: true },
    { protocol: 'MQTT', hasTls: true, requiresCertificate: true },
  ];
  const input = { projectId: service.projectId, name: 'hall', engine, listeners };
  const { broker } = await world.change('createCloudBroker', input, 'broker { id }');
  const brokerId: string = broker.id;
  const told = async (): Promise<readonly Told[] | null> =>
    (await service.graphql(`query ($id: ID!) { broker(id: $id) { isConnected ${LISTENERS} } }`, { id: brokerId })).data
      ?.broker?.listeners ?? null;
  await expect.poll(told).toHaveLength(4);
  const ports = ((await told()) ?? []).map(({ port }) => port);
  const password = readFileSync(passwordFile(service.config.dataDir, brokerId), 'utf8').trim();
  return { ...world, brokerId, told, ports, credentials: { username: 'admin', password } };
}

const embedded = shared(() => ownWorld());

test.each(['EMBEDDED', 'MOSQUITTO'] as const)(
  '%s: when one of three listeners fails, the result, the stored state, the broker and its clients agree, and clients stay connected',
  async (engine) => {
    const world = await ownWorld(engine);
    const { brokerId, told, credentials } = world;
    const [plain = 0, mqtts = 0, wss = 0] = world.ports;
    expect((await told())?.map((one) => one.server)).toEqual([null, null, null, null]);
    expect(await servedBy(mqtts)).toBeNull();
    const id = await world.store('server.pem', server.cert, server.key);
    const target = [{ brokerId, listeners: [{ port: mqtts }, { port: plain }, { port: wss }] }];

    const [result] = await world.deploy(id, target);
    expect(result).toMatchObject({
      error: null,
      succeed: [{ port: mqtts }, { port: wss }],
      failed: [{ port: plain, error: `TLS is not enabled on the listener of port ${plain}`, isUnknown: false }],
    });
    expect(await world.deployments(id)).toHaveLength(2);
    expect((await told())?.map((one) => one.certificates.map(({ filename }) => filename))).toEqual([
      [],
      ['server.pem'],
      ['server.pem'],
      [],
    ]);
    expect([await servedBy(mqtts), await servedBy(wss)]).toEqual([server.fingerprint256, server.fingerprint256]);

    const client = await connectSecure(mqtts, authority, { ...credentials, protocolVersion: 5 });
    let closed = 0;
    client.on('close', () => closed++);
    const young = await world.store('renewed.pem', renewed.cert, renewed.key);
    expect((await world.deploy(young, [{ brokerId, listeners: [{ port: mqtts }] }]))[0]?.failed).toEqual([]);
    expect([await servedBy(mqtts), await servedBy(wss)]).toEqual([renewed.fingerprint256, server.fingerprint256]);
    await client.publishAsync('still/here', 'yes', { qos: 1 });
    expect(closed).toBe(0);
    expect((await told())?.map((one) => one.server?.filename ?? null)).toEqual([
      null,
      'renewed.pem',
      'server.pem',
      null,
    ]);

    expect((await world.undeploy(young, target))[0]?.failed).toMatchObject([{ port: plain }]);
    expect(await servedBy(mqtts)).toBeNull();
    expect(await servedBy(wss)).toBe(server.fingerprint256);
  },
);

test('clients with certificates of a deployed authority are accepted, others are refused, and all are refused once it is undeployed', async () => {
  const world = await embedded();
  const { brokerId, credentials } = world;
  const port = world.ports[3] ?? 0;
  const target = [{ brokerId, listeners: [{ port }] }];
  const [ours, theirs] = [
    await world.store('server.pem', server.cert, server.key),
    await world.store('factory.pem', factory.cert),
  ];
  const connect = ({ leaf, key }: { leaf: string; key: string }) =>
    outcomeOf(connectSecure(port, authority, { ...credentials, cert: leaf, key, protocolVersion: 5 }));
  expect((await world.deploy(ours, target))[0]?.failed).toEqual([]);
  expect(await connect(device)).not.toBe('connected');
  for (let round = 0; round < 2; round++) expect((await world.deploy(theirs, target))[0]?.failed).toEqual([]);
  expect(await connect(device)).toBe('connected');
  expect(await connect(authority.issue({ name: 'stranger' }))).not.toBe('connected');
  expect((await world.undeploy(theirs, target))[0]?.failed).toEqual([]);
  expect(await connect(device)).not.toBe('connected');
});

test('after concurrent deployments, removals and changes of a certificate, the stored state equals the served state', async () => {
  const world = await embedded();
  const { brokerId, told } = world;
  const port = world.ports[1] ?? 0;
  const target = [{ brokerId, listeners: [{ port }] }];
  const ids = [
    await world.store('a.pem', server.cert, server.key),
    await world.store('b.pem', renewed.cert, renewed.key),
  ];
  const fingerprints = [server.fingerprint256, renewed.fingerprint256];
  const codes = new Set<string>();
  const change = async (name: string, certificateId: string) => {
    const input = name === 'updateCertificate' ? { certificateId, name: 'x' } : { certificateId, brokers: target };
    const mutation = `mutation ($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename } }`;
    const { errors } = await world.service.graphql(mutation, { input });
    for (const error of errors ?? []) codes.add(error.extensions.code);
  };
  for (let round = 0; round < (isLong ? 4 : 2); round++) {
    await Promise.all(
      ids.flatMap((id) =>
        ['deployCertificate', 'updateCertificate', 'undeployCertificate'].map((name) => change(name, id)),
      ),
    );
    const stored = await Promise.all(ids.map((id) => world.deployments(id)));
    const served = await servedBy(port);
    expect(stored.map(({ length }) => length)).toEqual(fingerprints.map((one) => (one === served ? 1 : 0)));
    const server = (await told())?.[1]?.server as { readonly fingerprint256?: string } | null | undefined;
    expect(server?.fingerprint256 ?? null).toBe(served);
  }
  expect([...codes].filter((code) => code !== 'IN_USE')).toEqual([]);
});

test('brokers whose port was taken while the service was stopped wait for it, and keep their certificates', async () => {
  const embeddedBroker = true;
  const world = await certificateWorld({ embeddedBroker });
  const { service } = world;
  const { projectId } = service;
  const certificateId = await world.store('server.pem', server.cert, server.key);
  const brokers: { readonly id: string; readonly first: number; readonly second: number }[] = [];
  for (const engine of ['EMBEDDED', 'MOSQUITTO']) {
    const port = await freeNeighbours();
    const secure = { protocol: 'MQTT', hasTls: true };
    const listeners = [{ protocol: 'MQTT' }, { ...secure, port }, { ...secure, port: port + 1 }];
    const input = { projectId, name: engine, engine, listeners };
    const { id } = (await world.change('createCloudBroker', input, 'broker { id }')).broker;
    await expect.poll(() => isConnected(service, id)).toBe(true);
    const ports = (await service.storage.db.brokerListener.findMany({ where: { brokerId: id } })).map(
      (row) => row.port,
    );
    const [, first = 0, second = 0] = ports;
    const [result] = await world.deploy(certificateId, [
      { brokerId: id, listeners: [{ port: first }, { port: second }] },
    ]);
    expect(result?.failed).toEqual([]);
    brokers.push({ id, first, second });
  }
  const { dataDir, databaseUrl } = service.config;
  await service.close();
  const holders = await Promise.all(brokers.map(({ first }) => hold(first)));
  const env = databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl };
  const again = await startTestService({ embeddedBroker, dataDir, env });
  for (const { id, first } of brokers) {
    const problem = expect.stringContaining(`port ${first} is in use`);
    await expect.poll(() => stateOf(again, id)).toMatchObject({ state: 'ERROR', problem });
  }
  for (const holder of holders) holder.close();
  for (const { id, first, second } of brokers) {
    await expect.poll(() => isConnected(again, id)).toBe(true);
    for (const port of [first, second]) expect(await servedBy(port)).toBe(server.fingerprint256);
    const where = { brokerId: id };
    const deployed = await again.storage.db.certificateDeployment.findMany({ where });
    expect(deployed.map(({ port }) => port).sort()).toEqual([first, second].sort());
  }
});

async function stateOf({ graphql }: Pick<TestService, 'graphql'>, id: string) {
  const STATE = 'query ($id: ID!) { broker(id: $id) { ... on CloudBroker { state problem } } }';
  return (await graphql(STATE, { id })).data?.broker;
}

async function isConnected({ graphql }: Pick<TestService, 'graphql'>, id: string): Promise<boolean | undefined> {
  return (await graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id })).data?.broker?.isConnected;
}

async function hold(port: number): Promise<Server> {
  const holder = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void holder.close());
  await once(holder, 'listening');
  return holder;
}

/**
 * Returns the first of two consecutive free ports, below the ephemeral ports, because a parallel test may use those.
 */
async function freeNeighbours(): Promise<number> {
  for (;;) {
    const port = 20_000 + 2 * randomInt(5_000);
    const holders = await Promise.all([port, port + 1].map((each) => hold(each).catch(() => null)));
    for (const holder of holders) if (holder) await new Promise((resolve) => holder.close(resolve));
    if (holders.every((holder) => holder !== null)) return port;
  }
}
