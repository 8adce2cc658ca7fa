import { defineConfig } from 'vitest/config';

const long = process.env.TEST_LONG === 'on';

export default defineConfig({
  resolve: {
    // Vite would give our sources the ES build of graphql while packages get the CommonJS one, as Node gives both:
    // two copies refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
  test: {
    include: long ? ['test/**/*.long.ts'] : ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: long ? 900_000 : 60_000,
    hookTimeout: 120_000,
    // Two cores, and each file starts brokers of its own.
    maxWorkers: 2,
    pool: 'forks',
    reporters: process.env.CI ? ['default'] : ['default'],
  },
});
