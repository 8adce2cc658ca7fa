import { defineConfig } from 'vitest/config';

const long = process.env.TEST_LONG === 'on';

/**
 * Files that run one after the other in a process which stays: the service and its schema are loaded once, not once per file, which
 * takes most files longer than their tests. They change nothing of their process; those that measure its memory or end it are not among them.
 */
const TOGETHER = ['auth', 'contract', 'mqtt', 'projects', 'rest', 'storage', 'tokens', 'users']
  .map((folder) => `test/${folder}/**/*.test.ts`)
  .concat(
    'test/*.test.ts',
    'test/live/**/*.test.ts',
    'test/graphql/{hostile,http,json-writer,odd-texts,page-cost,quoted-values,schema,streams}.test.ts',
  );

export default defineConfig({
  resolve: {
    // Vite would give our sources the ES build of graphql while packages get the CommonJS one, as Node gives both:
    // two copies refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: long ? 900_000 : 120_000,
    hookTimeout: 120_000,
    // A second, as it is by default, is what a busy machine now and then takes for anything.
    expect: { poll: { timeout: 30_000 } },
    // Tests wait for brokers and processes a good part of their time: two cores have room for a third file.
    maxWorkers: long ? 2 : 3,
    pool: 'forks',
    projects: long
      ? [{ extends: true, test: { name: 'long', include: ['test/**/*.long.ts'] } }]
      : [
          { extends: true, test: { name: 'apart', include: ['test/**/*.test.ts'], exclude: TOGETHER } },
          { extends: true, test: { name: 'together', include: TOGETHER, isolate: false } },
        ],
  },
});
