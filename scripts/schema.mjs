/** Writes schema.graphql from the sources; a test fails while the two differ. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundle } from './bundle.mjs';
import { generate } from './setup.mjs';
import { root } from './stamps.mjs';

generate();
// Inside node_modules, so that imports of packages resolve.
const parent = join(root, 'node_modules/.brokergraph');
mkdirSync(parent, { recursive: true });
const folder = mkdtempSync(join(parent, 'schema-'));
try {
  await bundle(['app/schema.ts', 'gateway/graphql/printed.ts'], folder);
  const modules = pathToFileURL(`${folder}/`);
  const { schema } = await import(new URL('app/schema.js', modules).href);
  const { printedSchema } = await import(new URL('gateway/graphql/printed.js', modules).href);
  writeFileSync(join(root, 'schema.graphql'), printedSchema(schema));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
