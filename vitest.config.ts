import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { hasPgbouncer } from './test/support/pgbouncer-program.ts';
import {
  brokerFiles,
  isLong,
  longFiles,
  networkFiles,
  postgresqlFiles,
  shortFiles,
  smokeFiles,
  suite,
} from './test/support/suite.ts';

/**
 * Files that measure the memory of their process run in a separate process. All other files share processes, because
 * loading the service and its schema takes longer than the tests of most files. A file must therefore restore timers
 * (checked by as-it-was.ts), environment variables and listeners.
 */
const APART = [
  'test/app/cli/v8-flags.test.ts',
  'test/gateway/graphql/compiled-programs.test.ts',
  'test/gateway/graphql/live/slow-reader.test.ts',
];

/** Files that a whole run runs behind a PgBouncer, on a database with unusual defaults. */
const isPooled = (path: string) => path.startsWith('test/contract/');

const onPostgresql = process.env.TEST_ON_POSTGRESQL === 'on' ? postgresqlFiles() : [];
const pooled = hasPgbouncer ? onPostgresql.filter(isPooled) : [];
const all = () => ['test/**/*.test.ts'];
const included = { short: shortFiles, smoke: smokeFiles, brokers: brokerFiles, all }[suite]();
const ofSuite = (paths: string[]) => (suite === 'all' ? paths : paths.filter((path) => included.includes(path)));
const network = networkFiles();
/** What needs no service: scripts/rules/imports.mjs checks that these files reach nothing above the data plane. */
const DATA_PLANE = ['test/data-plane/**/*.test.ts', 'test/protocol/**/*.test.ts'];
const dataPlane =
  suite === 'all' ? DATA_PLANE : included.filter((path) => /^test\/(?:data-plane|protocol)\//.test(path));
const elsewhere = [...network, ...APART, ...onPostgresql, ...DATA_PLANE];
// Chromium cancels its requests when an interface appears, so these files run before all files with Chromium. They
// mostly wait, so others run at the same time.
const first = { sequence: { groupOrder: 0 } };
const others = { sequence: { groupOrder: 1 } };
const ON_POSTGRESQL = { isolate: false, env: { TEST_ENGINE: 'postgresql' } };
const projects = [
  { ...first, name: 'network', include: ofSuite(network), isolate: false },
  { ...first, name: 'apart', include: ofSuite(APART) },
  { ...first, name: 'postgresql', include: onPostgresql, exclude: pooled, ...ON_POSTGRESQL },
  { ...first, name: 'pooled', include: pooled, isolate: false, env: { ...ON_POSTGRESQL.env, TEST_POOLER: 'session' } },
  { ...others, name: 'data-plane', include: dataPlane, isolate: false },
  { ...others, name: 'service', include: included, exclude: elsewhere, isolate: false },
];

const ofPostgresql = longFiles().filter((path) => postgresqlFiles().includes(path));
const longProjects = [
  { name: 'long', include: longFiles(), exclude: ofPostgresql },
  { name: 'long on PostgreSQL', include: ofPostgresql, ...ON_POSTGRESQL },
];

/**
 * Vite and Vitest list the modules of their Node in the settings of an environment, which are part of the key of each
 * cached module. Without those lists, all versions of Node use the modules that one of them compiled.
 */
const sameOnAllNodes = {
  name: 'same-on-all-nodes',
  enforce: 'post' as const,
  configEnvironment: {
    order: 'post' as const,
    handler: (_: string, { resolve }: { resolve?: { builtins?: (string | RegExp)[]; external?: true | string[] } }) =>
      void Object.assign(resolve ?? {}, { builtins: [/^node:/], external: [] }),
  },
};

export default defineConfig({
  plugins: [sameOnAllNodes],
  resolve: {
    // Without this alias, Vite loads the ES build of graphql for src and Node the CommonJS build for packages. The two
    // copies reject each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    // Later runs reuse the modules that an earlier one compiled.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['cpu-of-file', 'as-it-was', 'short-properties'].map((name) => `test/support/${name}.ts`),
    // These limits only end tests that hang. They are long enough for a machine with many busy processes per processor.
    testTimeout: isLong ? 900_000 : 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Files wait for other processes, so more files than processors keep all busy. Those of the short suite wait most.
    maxWorkers: Number(process.env.TEST_AT_ONCE ?? availableParallelism() + (isLong ? 0 : suite === 'short' ? 5 : 2)),
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Requests and messages are short-lived. More space for new objects makes garbage collection cheaper.
    execArgv: ['--max-semi-space-size=32'],
    projects: (isLong ? longProjects : projects)
      .filter(({ include }) => include.length > 0)
      .map((project) => ({ extends: true as const, test: project })),
  },
});
