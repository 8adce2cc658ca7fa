import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { restFiles, shortFiles } from './test/support/slow-files.ts';
import { suite } from './test/support/suite.ts';

const long = process.env.TEST_LONG === 'on';
const FILES = { short: shortFiles, rest: restFiles, all: () => ['test/**/*.test.ts'] }[suite]();

/**
 * Files that measure the memory of their process run in a process of their own. All other files share processes, because
 * loading the service and its schema takes longer than the tests of most files. Such a file must leave its process
 * unchanged: real timers (as-it-was.ts checks them), the environment variables and the listeners.
 */
const APART = ['test/gateway/graphql/compiled-programs.test.ts', 'test/gateway/graphql/live/slow-reader.test.ts'];

const isWanted = (path: string) => suite === 'all' || FILES.includes(path);

export default defineConfig({
  resolve: {
    // Vite would give our sources the ES build of graphql while packages get the CommonJS one, as Node gives both:
    // two copies refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    // What is run after the first part of a whole run, once more or on the other database, is as it was compiled then.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/cpu-of-file.ts', 'test/support/as-it-was.ts', 'test/support/short-properties.ts'],
    testTimeout: long ? 900_000 : 120_000,
    hookTimeout: 120_000,
    // A second, as it is by default, is what a busy machine now and then takes for anything.
    expect: { poll: { timeout: 30_000 } },
    // Tests wait for brokers and processes a good part of their time: two cores have room for two more files.
    maxWorkers: Number(process.env.TEST_AT_ONCE ?? (long ? 2 : 4)),
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Requests and messages live shortly: with room for them, less is collected.
    execArgv: ['--max-semi-space-size=32'],
    projects: long
      ? [{ extends: true, test: { name: 'long', include: ['test/**/*.long.ts'] } }]
      : [
          { extends: true, test: { name: 'apart', include: APART.filter(isWanted) } },
          { extends: true, test: { name: 'together', include: FILES, exclude: APART, isolate: false } },
        ],
  },
});
