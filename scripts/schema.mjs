/** Writes schema.graphql from the compiled sources; a test fails while the two differ. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, generate } from './setup.mjs';
import { root } from './stamps.mjs';

generate();
compile();
const { schema } = await import('../dist/app/schema.js');
const { printedSchema } = await import('../dist/gateway/graphql/printed.js');
writeFileSync(join(root, 'schema.graphql'), printedSchema(schema));
