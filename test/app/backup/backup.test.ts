import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import type { Engine } from '../../../src/platform/storage/database.ts';
import { servedBy } from '../../data-plane/broker/tls.ts';
import { runHere } from '../../support/command.ts';
import { newDatabaseUrl, openTestStorage, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';
import { type TestPostgres, UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { startTestService } from '../../support/service.ts';
import { connected, createEverything, MESSAGES, replayed } from '../transfer/everything.ts';
import { record } from '../transfer/recording.ts';

const PATH = process.env.PATH ?? '';

/** The environment of a service: a new data folder, and a new database. */
async function newPlace(engine: Engine, postgres: TestPostgres) {
  const url = await newDatabaseUrl(engine, postgres);
  return { DATA_DIR: join(temporaryFolder(), 'data'), DATABASE_URL: url ?? '', PATH };
}

const start = (
  { DATA_DIR: dataDir, DATABASE_URL }: { DATA_DIR: string; DATABASE_URL: string },
  embeddedBroker = true,
) => startTestService({ dataDir, embeddedBroker, env: { DATABASE_URL, MQTT_TLS_PORT: '0' } });

const succeeded = async (args: readonly string[], env: Record<string, string>) => {
  const { code, out, err } = await runHere(args, env);
  expect([code, err]).toEqual([0, '']);
  return out;
};

const refused = async (args: readonly string[], env: Record<string, string>) => {
  const { code, out, err } = await runHere(args, env);
  expect([code, out]).toEqual([1, '']);
  return err;
};

const modesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    (statSync(join(entry.parentPath, entry.name)).mode & 0o777)
      .toString(8)
      .concat(entry.isDirectory() ? ' folder' : ''),
  );

describeEngines((engine, postgres) => {
  test('everything is backed up while the service runs, and all reads are the same when it is restored elsewhere', async () => {
    const place = await newPlace(engine, postgres);
    const service = await start(place);
    const all = await createEverything(service);
    const before = await record(service, all);
    const backup = join(temporaryFolder(), 'backup');
    const out = await succeeded(['backup', backup], place);
    expect(out).toMatch(/The service was running[\s\S]*It contains the key of stored secrets/);
    expect([...new Set(modesBelow(backup))].sort()).toEqual(['600', '700 folder']);
    await service.close();

    const other = await newPlace(engine, postgres);
    await succeeded(['restore', backup], other);
    expect([...new Set(modesBelow(other.DATA_DIR))].sort()).toEqual(['600', '700 folder']);
    const later = await start(other);
    await connected(later, all.brokerIds);
    await expect.poll(() => record(later, all), { timeout: 60_000, interval: 2_000 }).toEqual(before);
    const { data } = await later.graphql('{ verifyAudit { isIntact problemCount } }', {}, all.session);
    expect(data.verifyAudit).toEqual({ isIntact: true, problemCount: 0 });
    expect(await servedBy(all.tlsPort)).toBe(all.fingerprint);
    for (const n of all.brokerIds.keys()) expect(await replayed(later, all, n)).toEqual(MESSAGES);
  });

  test('is refused to a folder with files, and restored only whole, to an empty folder and database that no service uses', async () => {
    const place = await newPlace(engine, postgres);
    const backup = join(temporaryFolder(), 'backup');
    expect(await refused(['backup', backup], place)).toContain('There is no data in');
    expect([existsSync(place.DATA_DIR), existsSync(backup)]).toEqual([false, false]);
    const service = await start(place, false);
    const { projectId } = service;
    await service.close();
    mkdirSync(backup, { mode: 0o755 });
    writeFileSync(join(backup, 'other'), '');
    expect(await refused(['backup', backup], place)).toContain('is not empty');
    const inside = join(place.DATA_DIR, 'backup');
    expect(await refused(['backup', inside], place)).toContain('is in the data folder');
    const link = join(temporaryFolder(), 'link');
    symlinkSync(place.DATA_DIR, link);
    expect(await refused(['backup', join(link, 'backup')], place)).toContain('is in the data folder');
    const whole = join(backup, 'whole');
    const done = JSON.parse(await succeeded(['backup', whole, '--json'], place));
    expect(done).toMatchObject({ engine, wasRunning: false });

    const other = await newPlace(engine, postgres);
    const damaged = (change: (folder: string) => void) => {
      const folder = join(temporaryFolder(), 'damaged');
      cpSync(whole, folder, { recursive: true });
      change(folder);
      return refused(['restore', folder], other);
    };
    const database = engine === 'sqlite' ? 'data/brokergraph.db' : 'database.dump';
    expect(await damaged((folder) => writeFileSync(join(folder, database), 'x'))).toContain(`${database} was changed`);
    const manifest = 'backup.json';
    expect(await damaged((folder) => writeFileSync(join(folder, manifest), '{'))).toContain(`${manifest} is damaged`);
    const later = readFileSync(join(whole, manifest), 'utf8').replace('"format": 1', '"format": 2');
    expect(await damaged((folder) => writeFileSync(join(folder, manifest), later))).toContain('it has format 2');
    expect(await refused(['restore', backup], other)).toContain(`it has no ${manifest}`);
    const outside = readFileSync(join(whole, manifest), 'utf8').replace(`"${database}"`, '"../../other"');
    expect(await damaged((folder) => writeFileSync(join(folder, manifest), outside))).toContain('is outside');
    const asLink = (folder: string) => {
      const file = join(folder, database);
      renameSync(file, `${folder}.moved`);
      symlinkSync(`${folder}.moved`, file);
    };
    expect(await damaged(asLink)).toContain(`${database} is a link`);
    expect(existsSync(other.DATA_DIR)).toBe(false);

    const running = await start(await newPlace(engine, postgres), false);
    const { dataDir: DATA_DIR } = running.config;
    expect(await refused(['restore', whole], { ...other, DATA_DIR })).toContain('is in use by process');
    await running.close();
    expect(await refused(['restore', whole], { ...other, DATA_DIR })).toContain('is not empty: it has');

    // What a killed restore leaves.
    mkdirSync(join(other.DATA_DIR, 'restore.unfinished'), { recursive: true });
    writeFileSync(join(other.DATA_DIR, 'restore.unfinished', 'secret.key'), 'half');
    // What was added to the backup is not restored.
    const outsider = join(dirname(whole), 'other');
    writeFileSync(join(whole, 'data', 'planted.txt'), 'x');
    symlinkSync(outsider, join(whole, 'data', 'planted-link'));
    await succeeded(['restore', whole], other);
    for (const name of ['restore.unfinished', 'planted.txt', 'planted-link'])
      expect(readdirSync(other.DATA_DIR)).not.toContain(name);
    const restored = await start(other, false);
    expect(restored.projectId).toBe(projectId);
  });
});

test('links in the data folder are followed, and restored as what they lead to; broken links and loops are refused', async () => {
  const place = { DATA_DIR: join(temporaryFolder(), 'data'), DATABASE_URL: '', PATH };
  await (await openTestStorage({ dataDir: place.DATA_DIR, databaseUrl: undefined })).close();
  const elsewhere = temporaryFolder();
  mkdirSync(join(elsewhere, 'brokers/1'), { recursive: true });
  writeFileSync(join(elsewhere, 'brokers/1/password'), 'a password');
  writeFileSync(join(elsewhere, 'key'), 'a key');
  const inData = (name: string) => join(place.DATA_DIR, name);
  symlinkSync(join(elsewhere, 'brokers'), inData('brokers'));
  symlinkSync(join(elsewhere, 'key'), inData('secret.key'));
  const backup = join(temporaryFolder(), 'backup');
  const refusedFor = async (target: string) => {
    symlinkSync(target, inData('link'));
    const reason = await refused(['backup', backup], place);
    rmSync(inData('link'));
    expect(reason).toContain(inData('link'));
    return reason;
  };
  expect(await refusedFor(join(elsewhere, 'missing'))).toContain('has no target');
  expect(await refusedFor('link')).toContain('leads to itself');
  expect(await refusedFor('.')).toContain('leads to a folder that contains it');
  expect(await refusedFor(dirname(backup))).toContain(`leads to a folder that contains ${backup}`);
  expect(existsSync(backup)).toBe(false);

  await succeeded(['backup', backup], place);
  const { files, ...about } = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'));
  expect(about).toMatchObject({ version: BUILD.version, commit: null, builtAt: null, engine: 'sqlite' });
  const paths = files.map((file: { path: string }) => file.path);
  expect(paths).toEqual(['data/brokergraph.db', 'data/brokers/1/password', 'data/secret.key']);
  rmSync(elsewhere, { recursive: true });
  const other = { ...place, DATA_DIR: join(temporaryFolder(), 'data') };
  await succeeded(['restore', backup], other);
  expect(readFileSync(join(other.DATA_DIR, 'brokers/1/password'), 'utf8')).toBe('a password');
  expect(readFileSync(join(other.DATA_DIR, 'secret.key'), 'utf8')).toBe('a key');
});

const postgres = usePostgres();

describe.skipIf(!postgres.available)(`of PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  /** Another program by this name, as an older installation has. */
  function pathWith(program: string, output: string): string {
    const folder = temporaryFolder();
    writeFileSync(join(folder, program), `#!/bin/sh\necho '${output}'\n`);
    chmodSync(join(folder, program), 0o755);
    return folder;
  }

  test('pg_dump and pg_restore must exist and be as new as the server; a database with tables, and one of SQLite, are refused', async () => {
    const place = await newPlace('postgresql', postgres);
    await (await start(place, false)).close();
    const backup = (name: string) => join(temporaryFolder(), name);
    const without = backup('without');
    expect(await refused(['backup', without], { ...place, PATH: '/nowhere' })).toContain('There is no pg_dump in PATH');
    expect(existsSync(without)).toBe(false);
    const old = pathWith('pg_dump', 'pg_dump (PostgreSQL) 9.6.24');
    expect(await refused(['backup', backup('b')], { ...place, PATH: old })).toMatch(
      /pg_dump in PATH has version 9, the server \d+/,
    );
    const whole = backup('whole');
    await succeeded(['backup', whole], place);

    const other = await newPlace('postgresql', postgres);
    expect(await refused(['restore', whole], { ...other, DATABASE_URL: '' })).toContain('The backup is of PostgreSQL');
    expect(await refused(['restore', whole], { ...other, DATABASE_URL: place.DATABASE_URL })).toContain('has tables');
    expect(await refused(['restore', whole], { ...other, PATH: '/nowhere' })).toContain('There is no pg_restore');
    await succeeded(['restore', whole], other);
    const sqlite = { ...place, DATA_DIR: temporaryFolder(), DATABASE_URL: '' };
    await (await openTestStorage({ dataDir: sqlite.DATA_DIR, databaseUrl: undefined })).close();
    await succeeded(['backup', backup('sqlite')], sqlite);
    const ofSqlite = backup('ofSqlite');
    await succeeded(['backup', ofSqlite], sqlite);
    expect(await refused(['restore', ofSqlite], other)).toContain('The backup is of SQLite');
  });

  test('no session waits for pg_dump or pg_restore, which the server would end when it is idle for long', async () => {
    const folder = temporaryFolder();
    const ended = join(folder, 'ended');
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'brokergraph %'`;
    for (const program of ['pg_dump', 'pg_restore']) {
      const lines = [
        '#!/bin/sh',
        `export PATH='${PATH}'`,
        `[ "$1" = --version ] || psql -At -c "${end}" "$DATABASE_URL" >> '${ended}' || exit 1`,
        `exec ${program} "$@"`,
      ];
      writeFileSync(join(folder, program), lines.join('\n'), { mode: 0o755 });
    }
    const place = await newPlace('postgresql', postgres);
    await (await openTestStorage({ dataDir: place.DATA_DIR, databaseUrl: place.DATABASE_URL })).close();
    const backup = join(temporaryFolder(), 'backup');
    const path = `${folder}:${PATH}`;
    await succeeded(['backup', backup], { ...place, PATH: path });
    await succeeded(['restore', backup], { ...(await newPlace('postgresql', postgres)), PATH: path });
    expect(readFileSync(ended, 'utf8')).toBe('');
  });
});
