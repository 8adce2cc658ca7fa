/**
 * Checks the rules of the sources that Biome and the compiler do not know: imports, exports, documents, language,
 * migrations, waits of the tests and of the product, and size. Prints the size of the sources.
 */
import { documentFaults } from './rules/documents.mjs';
import { exportFaults } from './rules/exports.mjs';
import { importFaults } from './rules/imports.mjs';
import { languageFaults } from './rules/language.mjs';
import { migrationFaults } from './rules/migrations.mjs';
import { size } from './rules/size.mjs';
import { waitingFaults } from './rules/waiting.mjs';
import { waitFaults } from './rules/waits.mjs';

const { text, faults } = size();
const all = [
  ...importFaults(),
  ...exportFaults(),
  ...documentFaults(),
  ...languageFaults(),
  ...waitFaults(),
  ...waitingFaults(),
  ...migrationFaults(),
  ...faults,
];
for (const fault of all) console.log(fault);
console.log(`${text}; ${all.length} faults`);
process.exitCode = all.length === 0 ? 0 : 1;
