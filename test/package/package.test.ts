import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/**
 * Packages that nothing imports. Yoga would else get later GraphQL tools, whose declared Node is later than ours, and
 * another version of its HTTP adapter than the one tested here: overrides do not count where the package is installed.
 */
const HELD_FOR_YOGA = [
  '@graphql-tools/executor',
  '@graphql-tools/merge',
  '@graphql-tools/schema',
  '@graphql-tools/utils',
  '@whatwg-node/server',
];

/** The environment without what an outer npm tells its scripts about this checkout. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const ofOuterNpm =
    /^(npm_(package|lifecycle|command|execpath|config_(local_prefix|noproxy|node_gyp))|INIT_CWD|VITEST|NODE_ENV)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofOuterNpm.test(name)));
}

/**
 * better-sqlite3 as it was compiled for this checkout, in the form of a published binary: its install script takes it from
 * there, as it would from the network, and need not compile for a minute.
 */
function prebuiltSqlite(folder: string): NodeJS.ProcessEnv {
  const compiled = join(ROOT, 'node_modules/better-sqlite3');
  const { version } = JSON.parse(readFileSync(join(compiled, 'package.json'), 'utf8'));
  const target = `node-v${process.versions.modules}-${process.platform}-${process.arch}`;
  const archive = join(folder, `better-sqlite3-v${version}-${target}.tar.gz`);
  mkdirSync(folder);
  execFileSync('tar', ['-C', compiled, '-czf', archive, 'build/Release/better_sqlite3.node']);
  return { npm_config_better_sqlite3_local_prebuilds: folder };
}

let packed: { readonly tarball: string; readonly files: readonly string[] };

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-packed-'));
  const told = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    env: plainEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename, files }] = JSON.parse(told);
  packed = { tarball: join(folder, filename), files: files.map(({ path }: { path: string }) => path) };
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Installs the package, with its production dependencies, in an empty folder. */
function installPackage(): { folder: string; env: NodeJS.ProcessEnv } {
  const temporary = temporaryFolder();
  const env = { ...plainEnvironment(), ...prebuiltSqlite(join(temporary, 'prebuilds')) };
  const folder = join(temporary, 'a new folder');
  mkdirSync(folder);
  const { tarball } = packed;
  execFileSync(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--engine-strict', '--prefix', folder, tarball],
    {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  return { folder, env };
}

// npm's work on a busy machine, in milliseconds.
const PATIENCE = 240_000;

test(
  'the package installs in an empty folder on this Node, and its command serves from there',
  async () => {
    const { folder, env } = installPackage();
    expect(existsSync(join(folder, 'node_modules/typescript'))).toBe(false);
    const command = (...args: string[]) =>
      execFileSync('npx', ['--no-install', 'brokergraph', ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    expect(command('--help')).toContain('serve');
    expect(command('--version').trim()).toBe(MANIFEST.version);

    const service = spawn(join(folder, 'node_modules/.bin/brokergraph'), ['serve'], {
      cwd: folder,
      env: { ...env, PORT: '0', MQTT_PORT: '0', MQTT_WS_PORT: '0', LOG_FORMAT: 'json' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(service, 'exit');
    onTestFinished(async () => {
      service.kill('SIGKILL');
      await ended;
    });
    let errors = '';
    service.stderr.on('data', (chunk: Buffer) => {
      errors += chunk;
    });
    let said = '';
    const ready = new Promise<string>((resolve) => {
      service.stdout.on('data', (chunk: Buffer) => {
        said += chunk;
        const url = /GraphQL +(\S+)\/graphql/.exec(said)?.[1];
        if (url) resolve(url);
      });
    });
    const url = await Promise.race([
      ready,
      ended.then(() => Promise.reject(new Error(`The service ended: ${errors}`))),
    ]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    // The embedded broker is a worker with a file of its own; the command asks the service that runs on ./data.
    expect(said).toContain('mqtt://127.0.0.1:');
    expect(JSON.parse(command('user', 'list', '--json'))).toMatchObject([{ isRootAdmin: true }]);
    service.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
  PATIENCE,
);

test('the package holds what runs, and nothing else', () => {
  const { files } = packed;
  expect(files.filter((path) => !path.startsWith('dist/') && !path.startsWith('prisma/migrations/')).sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`)
      .sort(),
    'package.json',
    'schema.graphql',
  ]);
  expect(files).toContain('dist/main.js');
  expect(files).toContain('dist/engines/embedded/worker.js');
  expect(files.filter((path) => path.startsWith('dist/') && !path.endsWith('.js'))).toEqual([]);
  expect(files.some((path) => /^prisma\/migrations\/sqlite\/.*\/migration\.sql$/.test(path))).toBe(true);
  expect(files.some((path) => /^prisma\/migrations\/postgresql\/.*\/migration\.sql$/.test(path))).toBe(true);
});

test('what the compiled code imports is what the package depends on', () => {
  const imported = new Set<string>();
  for (const file of readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue;
    const code = readFileSync(join(ROOT, 'dist', file), 'utf8');
    const statements = code.matchAll(/^(?:import\s*|(?:import|export)[\w$\s{},*]*?from\s*)['"]([^'"]+)['"]/gm);
    const expressions = code.matchAll(/\b(?:import|require)\(['"]([^'"]+)['"]\)/g);
    for (const [, name = ''] of [...statements, ...expressions]) imported.add(name);
  }
  const packages = [...imported]
    .filter((name) => !name.startsWith('.') && !name.startsWith('node:') && !builtinModules.includes(name))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  const needed = [...new Set(packages)].sort();
  const depended = Object.keys(MANIFEST.dependencies).filter((name) => !HELD_FOR_YOGA.includes(name));
  expect(needed).toEqual(depended.sort());
  // Each is exactly pinned, so that what is installed elsewhere is what is tested here.
  for (const [name, version] of Object.entries(MANIFEST.dependencies)) {
    const installed = createRequire(import.meta.url)(join(ROOT, 'node_modules', name, 'package.json')).version;
    expect(version, name).toBe(installed);
  }
});
