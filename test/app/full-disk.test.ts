import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { closed, opened } from '../domains/problems/problem-world.ts';
import { runHere } from '../support/command.ts';
import { newDatabaseUrl, temporaryFolder } from '../support/database.ts';
import { describeEngines } from '../support/engines.ts';
import { connected, ROOT, startTestService, type TestService } from '../support/service.ts';
import { noSmallDisk, smallDisk } from '../support/small-disk.ts';

const DESCRIBE = `mutation ($id: ID!, $description: String!) {
  updateProject(input: { projectId: $id, description: $description }) { project { description } }
}`;

const PUBLISH = `mutation ($id: ID!, $payload: String!) {
  publishMessage(input: { brokerId: $id, topic: "t", payload: { text: $payload }, qos: 1, retain: true }) { outcome }
}`;
const PROBLEM = 'query ($id: ID!) { broker(id: $id) { ... on CloudBroker { problem } } }';

describe.skipIf(noSmallDisk !== null)('on a small disk', () => {
  test('what cannot be stored is said, readiness is 503, and the service recovers when space is free', async () => {
    const disk = smallDisk(32);
    // The service of a test has SQLite in the folder, or a PostgreSQL elsewhere.
    const service = await startTestService({ dataDir: disk.folder, env: { MIN_FREE_MB: '1', DATABASE_URL: '' } });
    const describeProject = (description: string) => service.graphql(DESCRIBE, { id: service.projectId, description });
    const createToken = () =>
      service.rest('POST', `/api/projects/${service.projectId}/tokens`, undefined, { name: 'script', role: 'viewer' });
    expect(await readiness(service)).toMatchObject({ httpStatus: 200, status: 'ready' });

    disk.fill();
    await expect
      .poll(() => readiness(service))
      .toEqual({
        httpStatus: 503,
        status: 'not ready',
        reason: 'the data folder has less free space than MIN_FREE_MB',
      });
    expect(await metric(service, 'data_free_bytes')).toBe(0);
    await expect
      .poll(() => describeProject('x'.repeat(4_000)).then(({ errors }) => errors?.[0]))
      .toMatchObject({
        message: 'The database cannot store changes: the disk is full',
        extensions: { code: 'DATABASE_UNAVAILABLE' },
      });
    await expect
      .poll(() => service.login(ROOT.email, ROOT.password).catch(String))
      .toContain('The database cannot store changes: the disk is full');
    expect(await createToken()).toMatchObject({
      status: 503,
      body: { code: 'DATABASE_UNAVAILABLE', message: 'The database cannot store changes: the disk is full' },
    });
    // What is only read is served.
    expect(await service.graphql('{ viewer { __typename } }')).toMatchObject({ data: { viewer: {} } });

    disk.free();
    await expect.poll(() => readiness(service)).toMatchObject({ httpStatus: 200, status: 'ready' });
    const { data } = await describeProject('again');
    expect(data.updateProject.project.description).toBe('again');
    expect(await service.login(ROOT.email, ROOT.password)).toBeTypeOf('string');
  });

  test('a full disk is seen by a write, too, and is a problem of the embedded broker until space is free', async () => {
    const disk = smallDisk(32);
    const env = { MIN_FREE_MB: '0', DATABASE_URL: '' };
    const service = await startTestService({ dataDir: disk.folder, embeddedBroker: true, env });
    const { id } = await service.storage.db.broker.findFirstOrThrow();
    await connected(service, id);
    const publish = () =>
      service
        .graphql(PUBLISH, { id, payload: 'x'.repeat(10_000) })
        .then(({ data, errors }) => errors ?? data.publishMessage);
    const problem = () => service.graphql(PROBLEM, { id }).then(({ data }) => data.broker.problem);
    expect([await publish(), await problem()]).toEqual([{ outcome: 'ACKNOWLEDGED' }, null]);
    disk.fill();
    const reason = 'the database cannot store changes: the disk is full';
    await expect.poll(() => readiness(service)).toMatchObject({ httpStatus: 503, reason });
    await expect.poll(publish).toMatchObject([{ extensions: { info: { reasonCode: 0x97 } } }]);
    await expect.poll(problem).toBe('It cannot store: the disk is full. It serves only what need not be stored');
    expect(await metric(service, 'cloud_broker_disk_faults')).toBe(1);
    const low = { severity: 'CRITICAL', detail: expect.stringContaining('cannot store changes: the disk is full') };
    expect(await opened(service, 'DISK_LOW')).toMatchObject(low);
    disk.free();
    await expect.poll(publish).toEqual({ outcome: 'ACKNOWLEDGED' });
    await expect.poll(problem).toBeNull();
    expect(await metric(service, 'cloud_broker_disk_faults')).toBe(0);
    await closed(service, 'DISK_LOW');
  });

  test('commands say in one sentence that a disk is full, and what they leave', async () => {
    const disk = smallDisk(2);
    const { config } = await startTestService({ env: { DATABASE_URL: '' } });
    const env = { DATA_DIR: config.dataDir };
    const from = join(temporaryFolder(), 'backup');
    expect((await runHere(['backup', from], env)).code).toBe(0);
    disk.fill(100_000);
    const backup = join(disk.folder, 'backup');
    expect(await runHere(['backup', backup], env)).toEqual({
      code: 1,
      out: '',
      err: `error: The backup was not made: the disk is full. What it had written to ${backup} was deleted\n`,
    });
    expect(readdirSync(backup)).toEqual([]);
    const dataDir = join(disk.folder, 'data');
    const unfinished = join(dataDir, 'restore.unfinished');
    expect(await runHere(['restore', from], { DATA_DIR: dataDir })).toEqual({
      code: 1,
      out: '',
      err: `error: The restore was not completed: the disk is full. What was copied is in ${unfinished}, and the next restore deletes it\n`,
    });
    disk.fill();
    const file = join(disk.folder, 'audit.jsonl');
    expect(await runHere(['audit', 'export', '--output', file], env)).toMatchObject({
      code: 1,
      err: `error: The file ${file} is incomplete: the disk is full\n`,
    });
    expect(await runHere(['backup', join(file, 'below')], env)).toMatchObject({
      code: 1,
      err: `error: ${file}/below cannot be used: a part of the path is no folder\n`,
    });
    disk.free();
    expect((await runHere(['backup', backup], env)).code).toBe(0);
  });
});

interface Fault {
  readonly code: string;
  readonly reason: string;
  readonly isUnready: boolean;
  /** Begins the fault. Returns what ends it. */
  begin(service: TestService): Promise<() => unknown>;
}

const pragma = async ({ storage: { db } }: TestService, name: string, value: number, usual: number) => {
  await db.$queryRawUnsafe(`PRAGMA ${name} = ${value}`);
  return () => db.$queryRawUnsafe(`PRAGMA ${name} = ${usual}`);
};

const SQLITE_FAULTS: readonly Fault[] = [
  {
    code: 'SQLITE_READONLY',
    reason: 'it is read-only',
    isUnready: true,
    begin: (service) => pragma(service, 'query_only', 1, 0),
  },
  {
    code: 'SQLITE_IOERR',
    reason: 'the disk reports an error',
    isUnready: true,
    // The descriptor of the log of SQLite becomes one that cannot be written.
    begin: async ({ config }) => {
      const file = join(config.dataDir, 'brokergraph.db-wal');
      const open = readdirSync('/proc/self/fd')
        .map(Number)
        .filter((fd) => targetOf(fd) === file);
      expect(open).toHaveLength(1);
      const reopen = (flags: string) => {
        closeSync(open[0] ?? -1);
        expect(openSync(file, flags)).toBe(open[0]);
      };
      reopen('r');
      return () => reopen('r+');
    },
  },
];

const POSTGRESQL_FAULTS: readonly Fault[] = [
  ...[
    { code: '53100', reason: 'the disk is full' },
    { code: '58030', reason: 'the disk reports an error' },
  ].map((fault) => ({
    ...fault,
    // Its log, which readiness writes, may be on another disk.
    isUnready: false,
    begin: async ({ storage: { db } }: TestService) => {
      await db.$executeRawUnsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${fault.code}'; END $$`);
      for (const table of ['Project', 'ProjectToken'])
        await db.$executeRawUnsafe(
          `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON "${table}" FOR EACH STATEMENT EXECUTE FUNCTION refuse()`,
        );
      return () => db.$executeRawUnsafe('DROP FUNCTION refuse CASCADE');
    },
  })),
  {
    code: '25006',
    reason: 'it is read-only',
    isUnready: true,
    begin: async ({ config: { databaseUrl: connectionString } }) => {
      const client = new pg.Client({ connectionString, options: '-c default_transaction_read_only=off' });
      await client.connect();
      onTestFinished(() => client.end());
      const set = async (value: string) => {
        await client.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = ${value}',
          current_database()); END $$`);
        await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`);
      };
      await set('on');
      return () => set('off');
    },
  },
];

describeEngines((engine, postgres) => {
  test.for(engine === 'sqlite' ? SQLITE_FAULTS : POSTGRESQL_FAULTS)(
    '$code is DATABASE_UNAVAILABLE with its reason in GraphQL, REST, readiness and metrics, and passes',
    async ({ reason, isUnready, begin }) => {
      const DATABASE_URL = (await newDatabaseUrl(engine, postgres)) ?? '';
      const service = await startTestService({ dataDir: temporaryFolder(), env: { DATABASE_URL } });
      const id = service.projectId;
      const describeProject = (description: string) => service.graphql(DESCRIBE, { id, description });
      const end = await begin(service);
      const message = `The database cannot store changes: ${reason}`;
      const code = 'DATABASE_UNAVAILABLE';
      // A connection may end first.
      await expect.poll(() => describeProject('a')).toMatchObject({ errors: [{ message, extensions: { code } }] });
      const token = { name: 'script', role: 'viewer' };
      await expect
        .poll(() => service.rest('POST', `/api/projects/${id}/tokens`, undefined, token))
        .toMatchObject({ status: 503, body: { code, message } });
      if (isUnready) {
        await expect
          .poll(() => readiness(service))
          .toMatchObject({
            httpStatus: 503,
            status: 'not ready',
            reason: `the database cannot store changes: ${reason}`,
          });
        await expect.poll(() => metric(service, 'database_up')).toBe(0);
      }
      expect(await metric(service, `graphql_errors_total{code="${code}"}`)).toBeGreaterThan(0);
      expect(await metric(service, `rest_errors_total{code="${code}"}`)).toBeGreaterThan(0);
      await end();
      await expect.poll(() => readiness(service)).toMatchObject({ httpStatus: 200, status: 'ready' });
      await expect.poll(() => metric(service, 'database_up')).toBe(1);
      await expect
        .poll(() => describeProject('b'))
        .toMatchObject({ data: { updateProject: { project: { description: 'b' } } } });
    },
  );
});

test('the state of a broker that cannot be written is known', async () => {
  const service = await startTestService({ embeddedBroker: true, env: { DATABASE_URL: '' } });
  const { db } = service.storage;
  const { id } = await db.broker.findFirstOrThrow();
  // An integer overflow: Prisma reports RAISE of SQLite as a missing row.
  await db.$executeRaw`CREATE TRIGGER refuse BEFORE UPDATE OF "state" ON "Broker"
    BEGIN SELECT abs(-9223372036854775808); END`;
  const stop = 'mutation ($id: ID!) { setTargetState(input: { brokerId: $id, targetState: INACTIVE }) { __typename } }';
  expect(await service.graphql(stop, { id })).toMatchObject({ data: { setTargetState: {} } });
  const query = 'query ($id: ID!) { broker(id: $id) { ... on CloudBroker { state } } }';
  await expect.poll(() => service.graphql(query, { id })).toEqual({ data: { broker: { state: 'INACTIVE' } } });
  expect(await metric(service, 'cloud_brokers{state="inactive"}')).toBe(1);
  expect(await db.broker.findFirst()).toMatchObject({ state: 'ACTIVE' });
});

async function readiness({ rest }: TestService) {
  const { status: httpStatus, body } = await rest('GET', '/readyz');
  return { httpStatus, ...body };
}

async function metric({ url }: TestService, name: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(`brokergraph_${name} `))?.split(' ')[1]);
}

/** `null` if the descriptor is closed. */
function targetOf(fd: number): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}
