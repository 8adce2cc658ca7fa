import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';
import { readCompose } from './compose-file.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const text = (name: string) => readFileSync(`${ROOT}${name}`, 'utf8');

interface ComposeService {
  readonly read_only: string;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly mem_limit: string;
  readonly pids_limit: string;
  readonly tmpfs: readonly string[];
  readonly ports?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly user?: string;
}
// The cast is safe, because the tests compare each property that they use.
const { services } = readCompose(text('compose.yaml')) as unknown as {
  readonly services: Readonly<Record<string, ComposeService>>;
};

async function runScript(args: readonly string[], env: Record<string, string>) {
  const child = spawn('npm', ['run', '--silent', ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: temporaryFolder(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    output.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.err += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...output };
}

test.each(Object.entries(services))('%s runs with a read-only root, no capabilities and limits', (_name, service) => {
  expect(service).toMatchObject({
    read_only: 'true',
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: expect.stringMatching(/^\$\{\w+:-\d+[mg]\}$/),
    pids_limit: expect.stringMatching(/^\d+$/),
    tmpfs: expect.arrayContaining(['/tmp']),
  });
});

test('without TLS, MQTT and HTTP are published on loopback, and databases not at all', () => {
  const published = Object.fromEntries(Object.entries(services).map(([name, { ports = [] }]) => [name, ports]));
  expect(published).toEqual({
    brokergraph: [
      '127.0.0.1:4000:4000',
      '$' + '{MQTT_PUBLISH:-127.0.0.1}:1883:1883',
      '$' + '{MQTT_PUBLISH:-127.0.0.1}:9001:9001',
      '8883:8883',
    ],
    postgres: [],
  });
});

test('databases have a password from the environment and no root user', () => {
  expect(services.postgres).toMatchObject({
    user: 'postgres',
    environment: { POSTGRES_PASSWORD: expect.stringContaining('POSTGRES_PASSWORD:?') },
  });
});

test('the image has the programs of the version of PostgreSQL that Compose starts', () => {
  const [, version] = /^ARG POSTGRESQL_CLIENT=(\d+)$/m.exec(text('Dockerfile')) ?? [];
  expect(text('Dockerfile')).toContain(
    'install -y --no-install-recommends postgresql-client-$' + '{POSTGRESQL_CLIENT}',
  );
  expect(text('Dockerfile')).toContain('\nENV PATH=/usr/lib/postgresql/$' + '{POSTGRESQL_CLIENT}/bin:$PATH\n');
  for (const file of ['compose.yaml', 'deploy/compose-cluster.yaml'])
    expect(text(file)).toContain(`{POSTGRES_IMAGE:-postgres:${version}}`);
});

test('an image for a release is refused while a base image is not pinned by its digest', async () => {
  expect(await runScript(['image'], { NODE_IMAGE: 'node:24-bookworm-slim' })).toMatchObject({
    code: 1,
    err: expect.stringContaining('NODE_IMAGE must be an image with its digest'),
  });
  // With a pinned image the script continues, and fails because Docker is not on PATH.
  const pinned = { NODE_IMAGE: `node@sha256:${'a'.repeat(64)}` };
  const node = process.execPath.replace(/\/[^/]+$/, '');
  const { err } = await runScript(['image'], { ...pinned, PATH: `${node}:/bin` });
  expect(err).not.toContain('must be an image');
  const bases = [...text('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(bases).toEqual(Array(2).fill('$' + '{NODE_IMAGE}'));
  expect(text('Dockerfile')).toMatch(/ARG BUILD_COMMIT\nARG SOURCE_DATE_EPOCH\n[\s\S]*RUN npm run build/);
});

test('the files that the Dockerfile copies are all that the build needs', () => {
  const folder = temporaryFolder();
  const [build = ''] = text('Dockerfile').split(/^RUN npm run build/m);
  for (const [, files = ''] of build.matchAll(/^COPY (.+) \S+$/gm))
    for (const file of files.split(' ')) cpSync(`${ROOT}${file}`, `${folder}/${file}`, { recursive: true });
  rmSync(`${folder}/src/generated`, { recursive: true, force: true });
  symlinkSync(`${ROOT}node_modules`, `${folder}/node_modules`);
  execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  expect(existsSync(`${folder}/dist/main.js`)).toBe(true);
});

test('the container of the README has the ports and the volume of the image', () => {
  const [run = ''] = /^docker run [\s\S]*?\n```/m.exec(text('README.md')) ?? [];
  expect(run.match(/(?<=--publish )\S+/g)).toEqual(
    services.brokergraph?.ports?.slice(0, 1).concat('127.0.0.1:1883:1883'),
  );
  expect(text('Dockerfile')).toMatch(/^EXPOSE 4000 1883 /m);
  expect(text('Dockerfile')).toContain(`\nVOLUME ${/--volume \w+:(\S+)/.exec(run)?.[1]}\n`);
});

test('the bill of materials lists every production dependency with its version', async () => {
  const { out } = await runScript(['sbom'], {});
  const { bomFormat, components, dependencies } = JSON.parse(out) as {
    readonly bomFormat: string;
    readonly dependencies: readonly { readonly ref: string }[];
    readonly components: readonly { readonly name: string; readonly group?: string; readonly version: string }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  expect(dependencies.map(({ ref }) => ref)).toContain(`brokergraph@${JSON.parse(text('package.json')).version}`);
  expect(components.some(({ name }) => name === 'vitest')).toBe(false);
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const lock = JSON.parse(text('package-lock.json')) as {
    readonly packages: Readonly<
      Record<string, { version: string; name?: string; dev?: true; devOptional?: true; optional?: true; peer?: true }>
    >;
  };
  const production = Object.entries(lock.packages).flatMap(
    ([path, { version, name, dev, devOptional, optional, peer }]) =>
      path === '' || dev || devOptional || optional || peer
        ? []
        : [`${name ?? path.replace(/^.*node_modules\//, '')}@${version}`],
  );
  expect(production.length).toBeGreaterThan(80);
  expect(production.filter((name) => !listed.has(name))).toEqual([]);
  const { dependencies: direct } = JSON.parse(text('package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  expect(Object.entries(direct).filter(([name, version]) => !listed.has(`${name}@${version}`))).toEqual([]);
});

/** Starts a registry with the endpoints that `npm audit` uses. It returns one advisory, or an error `status`. */
async function startRegistry(severity: string | null, status = 200): Promise<string> {
  const server = createServer((req, res) => {
    req.resume();
    req.on('end', () => {
      const advisory = { id: 1, url: 'https://example.org/1', title: 'A flaw', severity, vulnerable_versions: '*' };
      const name = decodeURIComponent(req.url ?? '').slice(1);
      const answer = req.url?.endsWith('/advisories/bulk')
        ? severity === null
          ? {}
          : { ws: [advisory] }
        : { name, versions: { '8.23.0': { name, version: '8.23.0' } }, 'dist-tags': { latest: '8.23.0' } };
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test.each([
  ['a high advisory fails', 'high', 200, 1, 'high: ws'],
  ['a low advisory is counted only', 'low', 200, 0, '"low":'],
  ['no advisory passes', null, 200, 0, '"total":0'],
  ['a registry without a report is a note', null, 405, 0, 'not checked'],
])('npm run advisories: %s', async (_name, severity, status, code, printed) => {
  const env = { npm_config_registry: await startRegistry(severity, status), npm_config_fetch_retries: '0' };
  const result = await runScript(['advisories'], env);
  expect(result.out + result.err).toContain(printed);
  expect(result.code).toBe(code);
});
