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
 * Dependencies that no file imports. Without them, Yoga would install newer GraphQL tools, which require a newer Node.
 * npm ignores the overrides of an installed package.
 */
const PINNED_FOR_YOGA = [
  '@graphql-tools/executor',
  '@graphql-tools/merge',
  '@graphql-tools/schema',
  '@graphql-tools/utils',
];

/** The environment without the variables that an outer npm sets for scripts of this checkout. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const ofOuterNpm =
    /^(npm_(package|lifecycle|command|execpath|config_(local_prefix|noproxy|node_gyp))|INIT_CWD|VITEST|NODE_ENV)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofOuterNpm.test(name)));
}

let packed: { readonly tarball: string; readonly files: readonly string[] };

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-packed-'));
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    env: plainEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename, files }] = JSON.parse(output);
  packed = { tarball: join(folder, filename), files: files.map(({ path }: { path: string }) => path) };
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Installs the package, with its production dependencies, in an empty folder. */
function installPackage(): { folder: string; env: NodeJS.ProcessEnv } {
  const env = plainEnvironment();
  const folder = join(temporaryFolder(), 'a new folder');
  mkdirSync(folder);
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--engine-strict', '--prefix', folder];
  execFileSync('npm', ['install', ...flags, packed.tarball], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  return { folder, env };
}

/** The pages, each with its scripts and style sheet and their compressed copies. */
const PAGES =
  /^dist\/generated\/(console|embed|graphiql)\/(page\.html|notices\.txt|(embed|de|es|fr|(console|graphiql)-[\w-]+)\.(js|css|woff2)(\.br|\.gz)?)$/;

/** Milliseconds. npm is slow on a busy machine. */
const TIMEOUT = 240_000;

/** Others in the folder are made on demand. */
const PICTURES = ['console/fleet-light.png', 'console/refusals-light.png'];

test(
  'the package can be installed in an empty folder, and its command starts the service there',
  async () => {
    const { folder, env } = installPackage();
    expect(existsSync(join(folder, 'node_modules/typescript'))).toBe(false);
    // One version, and nothing is compiled: npm would compile version 12, on which Prisma's adapter depends.
    const sqlite = execFileSync('find', [folder, '-name', 'better_sqlite3.node', '-o', '-name', 'better-sqlite3'], {
      encoding: 'utf8',
    });
    expect(sqlite.trim()).toBe(join(folder, 'node_modules/better-sqlite3'));
    const command = (...args: string[]) =>
      execFileSync('npx', ['--no-install', 'brokergraph', ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    expect(command('--help')).toContain('serve');
    const { commit, builtAt } = JSON.parse(readFileSync(join(ROOT, 'dist/build.json'), 'utf8'));
    const date = new Date(builtAt).toISOString();
    const build = `(commit ${commit ?? 'unknown'}, built ${date})`;
    expect(command('--version')).toBe(`${MANIFEST.version} ${build}\n`);

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
        const url = /"url":"([^"]+).*\n/.exec(said)?.[1];
        if (url) resolve(url);
      });
    });
    const url = await Promise.race([
      ready,
      ended.then(() => Promise.reject(new Error(`The service exited: ${errors}`))),
    ]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const info = `{version="${MANIFEST.version}",commit="${commit ?? 'unknown'}",date="${date}"} 1`;
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(`brokergraph_build_info${info}\n`);
    // The embedded broker is a worker thread with its own file. The command queries the service that runs on ./data.
    expect(said).toContain('mqtt://127.0.0.1:');
    expect(JSON.parse(command('user', 'list', '--json'))).toMatchObject([{ isRootAdmin: true }]);
    service.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
  TIMEOUT,
);

/** Folders and files that only a checkout has. Documents may name them, but not link to them. */
const SOURCES = /^(\.ci|bench|console|prisma|scripts|src|test|Dockerfile|compose\.yaml)(\/|$)/;

test('the package has each file that one of its documents links to or names', () => {
  const { files } = packed;
  const has = (path: string) => files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
  const missing: string[] = [];
  for (const name of files.filter((file) => file.endsWith('.md'))) {
    const document = readFileSync(join(ROOT, name), 'utf8');
    for (const [, target = ''] of document.matchAll(/\]\(([^)\s#]+)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = decodeURI(new URL(target, `file:///${name}`).pathname.slice(1));
      if (!has(path)) missing.push(`${name} links to ${target}`);
    }
    for (const [, , code = ''] of document.matchAll(/(```|`)(.+?)\1/gs))
      for (const word of code.split(/[\s"'=]+/).map((each) => each.replace(/^\.\//, ''))) {
        const isPath = /^[\w.-]+(\/[\w.-]+)*$/.test(word) && existsSync(join(ROOT, word)) && !/^\.*$/.test(word);
        if (isPath && !SOURCES.test(word) && !has(word)) missing.push(`${name} names ${word}`);
      }
  }
  expect(missing).toEqual([]);
});

test('the package contains only compiled code, migrations, documents, examples and files of the deployment', () => {
  const { files } = packed;
  const tracked = execFileSync('git', ['ls-files', 'deploy', 'examples'], { cwd: ROOT, encoding: 'utf8' });
  expect(files.filter((path) => /^(deploy|examples)\//.test(path)).sort()).toEqual(
    tracked
      .split('\n')
      .filter((path) => path !== '' && !/\.gitignore$/.test(path))
      .sort(),
  );
  expect(files.filter((path) => !/^(deploy|dist|examples|prisma\/migrations)\//.test(path)).sort()).toEqual([
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') || PICTURES.includes(name))
      .map((name) => `docs/${name}`)
      .sort(),
    'package.json',
    'schema.graphql',
  ]);
  expect(files).toContain('dist/main.js');
  expect(files).toContain('dist/data-plane/broker/worker.js');
  const embedding = readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8');
  const imported = [...embedding.matchAll(/from 'brokergraph\/([^']+)'/g)].map(([, path]) => path);
  expect(imported).not.toEqual([]);
  expect(files).toEqual(expect.arrayContaining(imported));
  const others = files.filter((path) => path.startsWith('dist/') && !path.endsWith('.js') && !PAGES.test(path));
  expect(others).toEqual(['dist/build.json']);
  expect(files).toContain('dist/generated/graphiql/page.html');
  expect(files.some((path) => /^prisma\/migrations\/sqlite\/.*\/migration\.sql$/.test(path))).toBe(true);
  expect(files.some((path) => /^prisma\/migrations\/postgresql\/.*\/migration\.sql$/.test(path))).toBe(true);
});

test('the dependencies of the package are the packages that the compiled code imports', () => {
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
  const depended = Object.keys(MANIFEST.dependencies).filter((name) => !PINNED_FOR_YOGA.includes(name));
  expect(needed).toEqual(depended.sort());
  // Exact versions, so that users install the tested versions.
  for (const [name, version] of Object.entries(MANIFEST.dependencies)) {
    const installed = createRequire(import.meta.url)(join(ROOT, 'node_modules', name, 'package.json')).version;
    expect(version, name).toBe(installed);
  }
});
