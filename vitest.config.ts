import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: {
    // Vite would give our sources the ES build of graphql while packages get the CommonJS one, as Node gives both:
    // two copies refuse each other's schemas.
    alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }],
  },
});
