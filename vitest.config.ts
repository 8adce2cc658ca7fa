import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { restFiles, shortFiles } from './test/support/slow-files.ts';
import { suite } from './test/support/suite.ts';

const long = process.env.TEST_LONG === 'on';
const FILES = { short: shortFiles, rest: restFiles, all: () => ['test/**/*.test.ts'] }[suite]();

/**
 * Files that measure the memory of their process run in a separate process. All other files share processes, because
 * loading the service and its schema takes longer than the tests of most files. A file must therefore restore timers
 * (checked by as-it-was.ts), environment variables and listeners.
 */
const APART = ['test/gateway/graphql/compiled-programs.test.ts', 'test/gateway/graphql/live/slow-reader.test.ts'];

const isWanted = (path: string) => suite === 'all' || FILES.includes(path);

export default defineConfig({
  resolve: {
    // Without this alias, Vite loads the ES build of graphql for src and Node the CommonJS build for packages. The two
    // copies reject each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    // Later parts of a run reuse the modules that the first part compiled.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/cpu-of-file.ts', 'test/support/as-it-was.ts', 'test/support/short-properties.ts'],
    testTimeout: long ? 900_000 : 120_000,
    hookTimeout: 120_000,
    // The default of one second is too short for a busy machine.
    expect: { poll: { timeout: 30_000 } },
    // Three files keep two cores busy for nine tenths of a run. A fourth one saves little and delays the others.
    maxWorkers: Number(process.env.TEST_AT_ONCE ?? (long ? 2 : 3)),
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Requests and messages are short-lived. More space for new objects makes garbage collection cheaper.
    execArgv: ['--max-semi-space-size=32'],
    projects: long
      ? [{ extends: true, test: { name: 'long', include: ['test/**/*.long.ts'] } }]
      : [
          { extends: true, test: { name: 'apart', include: APART.filter(isWanted) } },
          { extends: true, test: { name: 'together', include: FILES, exclude: APART, isolate: false } },
        ],
  },
});
