import { copyFileSync, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/database.ts';
import { startClient } from '../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { endLeaseSessions } from '../../support/postgres-client.ts';
import type { TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import {
  accountOf,
  brokerOf,
  connected,
  create,
  databaseFor,
  ENGINES,
  hasFolder,
  isUp,
  remove,
  setTargetState,
} from './cloud-world.ts';

const postgres = usePostgres();

const LISTENERS = `query ($id: ID!) { broker(id: $id) {
  listeners { port hasTls certificates { filename } server { filename } }
} }`;
const STORE = 'mutation ($input: CreateCertificateInput!) { createCertificate(input: $input) { certificate { id } } }';
const DEPLOY = `mutation ($input: DeployCertificateInput!) { deployCertificate(input: $input) {
  results { error failed { error } succeed { port } }
} }`;
const PROCESSES = 'query { processes { processId isSelf role engines } }';
const DRAIN = 'mutation ($input: DrainProcessInput!) { drainProcess(input: $input) { process { isDraining } } }';

const NO_PROCESS =
  'input.engine: no process runs brokers with this engine: EMBEDDED_BROKER is off, or the engine is not installed';

// Services on one PostgreSQL, as processes would be: they share nothing but the database.
describe.skipIf(!postgres.available)(
  `cloud brokers of several processes ${postgres.available ? '' : `(${UNAVAILABLE})`}`,
  () => {
    const pair = shared(async () => {
      const start = await databaseFor(postgres);
      return { start, one: await start({ embeddedBroker: true }), other: await start() };
    });

    test('are created through any process, spread, and started by the process with their folder only', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      // The first broker is in this folder.
      const [first] = await one.storage.db.broker.findMany();
      const api = await start({ env: { ROLE: 'api', EMBEDDED_BROKER: 'on' } });
      const two = await start({ embeddedBroker: true });
      expect(two.report.mqtt).toBeNull();
      const ids = [first?.id ?? '', ...[await create(api), await create(api), await create(api)]];
      for (const id of ids) await connected(id, api, one, two);
      const foldersOf = (service: TestService) => ids.filter((id) => hasFolder(service, id));
      const [ofOne, ofTwo] = [foldersOf(one), foldersOf(two)];
      expect([ofOne.length, ofTwo.length, foldersOf(api).length]).toEqual([2, 2, 0]);
      expect(new Set([...ofOne, ...ofTwo]).size).toBe(4);
      // At the same number, the process itself has the next one.
      const own = await create(two);
      await connected(own, two);
      expect(hasFolder(two, own)).toBe(true);

      const urls = () => Promise.all(ids.map(async (id) => (await brokerOf(api, id)).url));
      const before = await urls();
      await Promise.all([one.close(), two.close()]);
      const again = [one, two].map(({ config }) => start({ embeddedBroker: true, dataDir: config.dataDir }));
      const [oneAgain, twoAgain] = (await Promise.all(again)) as [TestService, TestService];
      for (const id of ids) await connected(id, api, oneAgain, twoAgain);
      expect(await urls()).toEqual(before);
      expect([foldersOf(oneAgain), foldersOf(twoAgain)]).toEqual([ofOne, ofTwo]);
    });

    test('are refused if no process can run them, with the reason', async () => {
      const start = await databaseFor(postgres);
      const api = await start({ env: { ROLE: 'api', EMBEDDED_BROKER: 'on' } });
      const off = await start();
      for (const service of [api, off]) expect(await create(service)).toBe(NO_PROCESS);
      const one = await start({ embeddedBroker: true, env: { MOSQUITTO_BINARY: '/nowhere/mosquitto' } });
      const { processes } = (await api.graphql(PROCESSES)).data;
      expect(processes.map(({ engines }: { engines: string[] }) => engines)).toEqual([[], [], ['EMBEDDED']]);
      expect(await create(api, { engine: 'MOSQUITTO' })).toBe(NO_PROCESS);
      expect(await create(one, { engine: 'MOSQUITTO' })).toContain('There is no program /nowhere/mosquitto');
      const id = await create(api);
      await connected(id, api, off, one);
      // With its own brokers, it gets no others.
      const { processId } = processes[2];
      for (const isDraining of [true, false]) {
        expect((await api.graphql(DRAIN, { input: { processId, isDraining } })).errors).toBeUndefined();
        if (isDraining) expect(await create(api)).toBe(NO_PROCESS);
        else await connected(await create(api), api);
      }
      expect(await brokerOf(api, id)).toMatchObject(isUp);
    });

    test.each(ENGINES)(
      '%s: are stopped, started, read, given certificates and deleted through another process',
      async (engine) => {
        const { one, other } = await pair();
        const id = await create(other, { engine, listeners: [{}, { hasTls: true }] });
        await connected(id, one, other);
        await setTargetState(other, id, 'INACTIVE');
        await expect.poll(() => brokerOf(other, id)).toMatchObject({ state: 'INACTIVE', problem: null });
        await setTargetState(other, id, 'ACTIVE');
        await connected(id, one, other);

        const listeners = async () => (await other.graphql(LISTENERS, { id })).data.broker.listeners;
        const [, tls] = await listeners();
        expect(tls).toMatchObject({ hasTls: true, server: null, certificates: [] });
        const authority = createAuthority();
        const { cert, key } = authority.issue({ name: 'localhost' });
        const filename = `${engine}.pem`;
        const input = { projectId: other.projectId, filename, cert, privateKey: key };
        const { certificate } = (await other.graphql(STORE, { input })).data.createCertificate;
        const brokers = [{ brokerId: id, listeners: [{ port: tls.port }] }];
        const { data } = await other.graphql(DEPLOY, { input: { certificateId: certificate.id, brokers } });
        expect(data.deployCertificate.results).toEqual([{ error: null, failed: [], succeed: [{ port: tls.port }] }]);
        expect((await listeners())[1]).toMatchObject({ server: { filename } });
        const device = await connectAsync(`mqtts://localhost:${tls.port}`, {
          ca: authority.leaf,
          ...accountOf(one, id),
        });
        await device.endAsync(true);

        await remove(other, id);
        await expect.poll(() => hasFolder(one, id)).toBe(false);
        await expect.poll(() => one.storage.db.deletedCloudBroker.count()).toBe(0);
        expect(await brokerOf(one, id)).toBeNull();
      },
    );

    test('files remain if the database has lost the broker, and the broker stops', async () => {
      const { one } = await pair();
      const [lost, deleted] = [await create(one), await create(one)];
      for (const id of [lost, deleted]) await connected(id, one);
      const { url } = await brokerOf(one, lost);
      // As a standby that lagged behind when it was promoted, or a backup.
      const { db, changes } = one.storage;
      await db.$transaction([
        db.$executeRaw`SET LOCAL session_replication_role = replica`,
        db.$executeRaw`DELETE FROM "Broker" WHERE id = ${lost}`,
      ]);
      await changes.announce('broker', lost);
      await remove(one, deleted);
      await expect.poll(() => hasFolder(one, deleted)).toBe(false);
      const { cloudBrokers } = one.services;
      await expect.poll(() => cloudBrokers.listenersOf(lost)).toBeNull();
      await cloudBrokers.gone(lost);
      await expect(connectAsync(url, { reconnectPeriod: 0 })).rejects.toThrow('ECONNREFUSED');
      expect(hasFolder(one, lost)).toBe(true);
    });

    test('a state that could not be written is written later, and with the address when leases are regained', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      const { db } = one.storage;
      await db.$executeRaw`CREATE SEQUENCE attempts`;
      await db.$executeRaw`CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'the disk is full'; END IF;
        RETURN NEW;
      END $$`;
      await db.$executeRaw`CREATE TRIGGER refuse_once BEFORE UPDATE ON "Broker"
        FOR EACH ROW WHEN (NEW.state = 'ACTIVE') EXECUTE FUNCTION refuse_once()`;
      const id = await create(one);
      await connected(id, one);
      const { url } = await brokerOf(one, id);
      expect(await db.$queryRaw`SELECT last_value > 1 AS repeated FROM attempts`).toEqual([{ repeated: true }]);

      // As after an outage in which the write was lost. The end of its session takes the leases of the process.
      await db.broker.update({ where: { id }, data: { url: 'mqtt://127.0.0.1:1', state: 'UPDATING' } });
      await endLeaseSessions(one.config.databaseUrl ?? '');
      await expect.poll(() => db.broker.findUnique({ where: { id } })).toMatchObject({ url, state: 'ACTIVE' });
    });

    test('a start that failed is tried again at once when another process says so', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      const other = await start();
      const id = await create(one, { engine: 'MOSQUITTO' });
      await connected(id, other);
      await one.close();
      const without = {
        embeddedBroker: true,
        dataDir: one.config.dataDir,
        env: { MOSQUITTO_BINARY: '/nowhere/mosquitto' },
      };
      await start(without);
      const problem = 'There is no program /nowhere/mosquitto (MOSQUITTO_BINARY)';
      await expect
        .poll(() => brokerOf(other, id))
        .toMatchObject({
          state: 'ERROR',
          problem,
          connection: { state: 'CLOSED', lastError: problem },
          runsOn: { isAvailable: true },
        });
      const failedAt = async () =>
        (await other.storage.db.broker.findUniqueOrThrow({ where: { id } })).updatedAt.getTime();
      // By itself the process tries again after a pause that doubles: the last one would be longer than a minute.
      for (let attempt = 0; attempt < 7; attempt += 1) {
        const asked = await setTargetState(other, id, 'ACTIVE');
        await expect.poll(failedAt).toBeGreaterThan(asked);
      }
    });

    test('a stopped process is named by others; what was wanted meanwhile is done when it is back', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      const other = await start();
      const [stays, stopped, deleted, ofProject] = [
        await create(other),
        await create(other),
        await create(other),
        await create(other, { projectId: await projectOf(other) }),
      ];
      for (const id of [stays, stopped, deleted, ofProject]) await connected(id, other);
      const device = await startClient((await brokerOf(one, stays)).url, accountOf(one, stays));
      await device.publishAsync('kept', 'yes', { qos: 1, retain: true });
      await one.close();

      const text = `The process on ${hostname()} that runs this broker was stopped. The broker starts with it`;
      const away = await brokerOf(other, stays);
      expect(away).toMatchObject({ state: 'INACTIVE', targetState: 'ACTIVE', problem: text, isConnected: false });
      expect(away.runsOn).toEqual({ host: hostname(), isAvailable: false, awaySince: expect.any(String) });
      expect(away.connection).toEqual({ state: 'CLOSED', lastError: text });
      expect((await other.graphql(LISTENERS, { id: stays })).errors?.[0]).toMatchObject({
        message: text,
        extensions: { code: 'BROKER_UNREACHABLE' },
      });
      await setTargetState(other, stopped, 'INACTIVE');
      await remove(other, deleted);
      const { projectId } = await other.storage.db.broker.findUniqueOrThrow({ where: { id: ofProject } });
      await other.graphql('mutation ($id: ID!) { deleteProject(input: { projectId: $id }) { __typename } }', {
        id: projectId,
      });
      expect([deleted, ofProject].map((id) => hasFolder(one, id))).toEqual([true, true]);

      const back = await start({ embeddedBroker: true, dataDir: one.config.dataDir });
      await connected(stays, other, back);
      expect([deleted, ofProject].map((id) => hasFolder(back, id))).toEqual([false, false]);
      expect(await back.storage.db.deletedCloudBroker.count()).toBe(0);
      await expect
        .poll(() => brokerOf(other, stopped))
        .toMatchObject({ state: 'INACTIVE', problem: null, runsOn: { isAvailable: true, awaySince: null } });
      const again = await startClient((await brokerOf(other, stays)).url, accountOf(back, stays));
      const kept = new Promise((resolve) => again.once('message', (_topic, payload) => resolve(payload.toString())));
      await again.subscribeAsync('kept');
      expect(await kept).toBe('yes');
    });

    test('a broker without a folder is adopted by the process that has its files, and by no other', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      const id = await create(one);
      await connected(id, one);
      await one.close();
      const other = await start({ embeddedBroker: true });
      // As an earlier version wrote it.
      const { db } = other.storage;
      await db.broker.update({ where: { id }, data: { folderId: null, host: null, awaySince: null, problem: null } });
      await other.close();
      const otherAgain = await start({ embeddedBroker: true, dataDir: other.config.dataDir });
      expect(await brokerOf(otherAgain, id)).toMatchObject({ state: 'INACTIVE', runsOn: null });
      expect(hasFolder(otherAgain, id)).toBe(false);
      const back = await start({ embeddedBroker: true, dataDir: one.config.dataDir });
      await connected(id, back, otherAgain);
      expect(hasFolder(otherAgain, id)).toBe(false);
    });

    test('a copy of a data folder is refused while the process of the original runs', async () => {
      const start = await databaseFor(postgres);
      const one = await start({ embeddedBroker: true });
      const copy = temporaryFolder();
      copyFileSync(join(one.config.dataDir, 'folder.id'), join(copy, 'folder.id'));
      await expect(start({ embeddedBroker: true, dataDir: copy })).rejects.toThrow(
        `Another process runs the brokers of a folder with the id of the data folder ${copy}`,
      );
      await one.close();
      await start({ embeddedBroker: true, dataDir: copy });
      expect(existsSync(join(copy, 'brokers'))).toBe(true);
    });

    test('no process sends the password of a broker on another machine to its own machine', async () => {
      const { one, start } = await pair();
      const id = await create(one);
      await connected(id, one);
      // As a process on another machine writes it that has no MQTT_ADVERTISED_HOST.
      await one.storage.db.broker.update({ where: { id }, data: { host: 'factory' } });
      const other = await start();
      await expect
        .poll(async () => (await brokerOf(other, id)).connection)
        .toEqual({
          state: 'UNREACHABLE',
          lastError: expect.stringContaining('"Plant" runs on factory, and its address is valid on that machine only'),
        });
    });
  },
);

async function projectOf(service: TestService): Promise<string> {
  const { data } = await service.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }');
  return data.createProject.project.id;
}
