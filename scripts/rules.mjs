/**
 * Checks the rules of the sources that Biome and the compiler do not check, and prints the size of the sources. Faults
 * of imports, exports and documents fail the check. `--all` also lists faults of language and size, which do not.
 */
import { documentFaults } from './rules/documents.mjs';
import { exportFaults } from './rules/exports.mjs';
import { importFaults } from './rules/imports.mjs';
import { languageFaults } from './rules/language.mjs';
import { size } from './rules/size.mjs';

const { text, faults } = size();
const failing = [...importFaults(), ...exportFaults(), ...documentFaults()];
const others = [...languageFaults(), ...faults];
for (const fault of process.argv.includes('--all') ? [...failing, ...others] : failing) console.log(fault);
console.log(text);
console.log(`${failing.length} faults of imports, exports and documents, ${others.length} of language and size`);
process.exitCode = failing.length === 0 ? 0 : 1;
