/** Checks schema.graphql with the recommended rules and the Relay rules of graphql-eslint. */
import { installSchemaLint } from './setup.mjs';
import { root } from './stamps.mjs';

installSchemaLint();
const { lint } = await import('./schema-lint/lint.mjs');
const faults = await lint(root);
for (const { line, message, ruleId } of faults) console.log(`schema.graphql:${line}: ${message} (${ruleId})`);
console.log(`schema.graphql: ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
