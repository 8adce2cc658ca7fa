/** What the chart renders, run on this machine: the same variables and commands, with folders instead of mounts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { runHere } from '../support/commands.ts';
import { temporaryFolder } from '../support/database.ts';
import { findPostgresPrograms, startCluster } from '../support/postgres.ts';
import { serveTls } from '../support/postgres-tls.ts';
import { hasSlapd, startSlapd } from '../support/slapd.ts';
import { ofKind, settingsOf } from './chart-checks.ts';
import { NEEDED, PRIVATE_AUTHORITIES } from './chart-values.ts';
import { canRunHelm, installDeployTools, type Manifest, ROOT, render } from './deploy-tools.ts';

beforeAll(() => void installDeployTools(), 600_000);

const SECRET_KEY = 'a key of more than 32 characters, for this';
const { PATH = '' } = process.env;

interface Container {
  readonly command: readonly [string, ...string[]];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

/** The variables of a container with the Secret of the values. Its mounts are folders below `disk`. */
function environmentOf(manifests: readonly Manifest[], { env, volumeMounts }: Container, secret: object, disk: string) {
  const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const mounts = volumeMounts.map(({ mountPath }) => mountPath);
  for (const mount of mounts) mkdirSync(join(disk, mount), { recursive: true });
  const mounted = (text: string) =>
    mounts.reduce((path, mount) => path.replace(new RegExp(`(^|=)${mount}(?=/|$)`), `$1${disk}${mount}`), text);
  const variables = Object.entries<string>({ ...settingsOf(manifests), ...secret, ...own });
  const given: Record<string, string> = Object.fromEntries(variables.map(([name, value]) => [name, mounted(value)]));
  return { ...given, PATH } as Record<string, string>;
}

const containerOf = (manifests: readonly Manifest[], kind: 'StatefulSet' | 'CronJob'): Container => {
  const [{ spec }] = ofKind(manifests, kind) as [Manifest];
  return (kind === 'CronJob' ? spec.jobTemplate.spec.template : spec.template).spec.containers[0];
};

/** As the image runs it, in its folder of work. */
async function runContainer({ command: [program, ...args] }: Container, env: Record<string, string>) {
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}

const needed = canRunHelm && findPostgresPrograms() !== null;

test.skipIf(!needed)(
  'the job makes copies of a PostgreSQL with a private authority, of which the last ones remain, and which restore',
  async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.stop());
    const authority = createAuthority();
    await serveTls(cluster.url, authority, authority.issue());
    const values = { ...NEEDED, ...PRIVATE_AUTHORITIES, backup: { enabled: true, keep: 2 } };
    const manifests = await render(values);
    const disk = temporaryFolder();
    const url = (database: string) =>
      `${dirname(cluster.url)}/${database}?sslmode=verify-full&sslrootcert=/etc/authorities/postgresql.pem`;
    const job = containerOf(manifests, 'CronJob');
    const env = (database: string, place = disk) =>
      environmentOf(manifests, job, { SECRET_KEY, DATABASE_URL: url(database) }, place);

    const place = env('postgres');
    const folder = place.BACKUP_FOLDER ?? '';
    const before = await runContainer(job, place);
    expect([before.code, before.output]).toEqual([1, expect.stringMatching(/postgresql\.pem|no such file/)]);
    writeFileSync(join(disk, 'etc/authorities/postgresql.pem'), createAuthority().cert);
    expect((await runContainer(job, place)).output).toMatch(/certificate/);
    writeFileSync(join(disk, 'etc/authorities/postgresql.pem'), authority.cert);
    expect(await runContainer(job, place)).toEqual({
      code: 1,
      output: expect.stringContaining('There is no data in the database postgres. Set DATABASE_URL'),
    });
    const copies = () => readdirSync(folder);
    expect(copies()).toEqual([]);

    expect(await runHere(['migrate'], { ...place, LOG_LEVEL: 'silent' })).toMatchObject({ code: 0, err: '' });
    expect((await runHere(['user', 'create', 'ann@example.com'], place)).code).toBe(0);
    for (const name of ['20200101T000000Z', '20200102T000000Z', '20200103T000000Z.unfinished'])
      mkdirSync(join(folder, name));
    expect(await runContainer(job, place)).toMatchObject({ code: 0 });
    expect(copies()).toEqual(['20200102T000000Z', expect.stringMatching(/^20\d{6}T\d{6}Z$/)]);

    expect((await runHere(['project', 'list'], env('restored', temporaryFolder()))).code).toBe(1);
    await createDatabase(cluster.url, 'restored');
    const other = { ...env('restored'), DATA_DIR: join(temporaryFolder(), 'data') };
    const copy = join(folder, copies().at(-1) ?? '');
    expect(await runHere(['restore', copy], { ...other, LOG_LEVEL: 'silent' })).toMatchObject({ code: 0, err: '' });
    const users = await runHere(['user', 'list', '--json'], other);
    expect(JSON.parse(users.out)).toMatchObject([{ email: 'ann@example.com' }]);
  },
);

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
}

test.skipIf(!canRunHelm || !hasSlapd)(
  'a process verifies an LDAPS directory by the certificate of a mounted file',
  async () => {
    const slapd = await startSlapd([{ uid: 'ada', cn: 'Ada', mail: ['ada@example.com'] }], {});
    const { LDAP_BIND_PASSWORD, LDAP_START_TLS: _, ...settings } = slapd.env;
    const manifests = await render({
      ...NEEDED,
      ...PRIVATE_AUTHORITIES,
      settings: { ...settings, LDAP_URL: slapd.tlsUrl, LDAP_CA_FILE: '/etc/authorities/ldap.pem' },
    });
    const disk = temporaryFolder();
    const secret = { SECRET_KEY, DATABASE_URL: 'postgresql://postgres/brokergraph', LDAP_BIND_PASSWORD };
    const env = environmentOf(manifests, containerOf(manifests, 'StatefulSet'), secret, disk);
    const search = () => runHere(['doctor', '--login', 'ada@example.com'], env);
    expect((await search()).err).toContain(`LDAP_CA_FILE cannot be read: ${disk}/etc/authorities/ldap.pem`);
    writeFileSync(join(disk, 'etc/authorities/ldap.pem'), createAuthority().cert);
    expect(await search()).toMatchObject({ code: 1, out: expect.stringMatching(/LDAP_URL +FAILS .*certificate/) });
    writeFileSync(join(disk, 'etc/authorities/ldap.pem'), readFileSync(slapd.caFile));
    expect(await search()).toMatchObject({ code: 0, out: expect.stringContaining('ada@example.com') });
  },
);
