/** Checks the rules of the sources that Biome and the compiler do not know, and prints the size of the sources. */
import { exportFaults } from './rules/exports.mjs';
import { importFaults } from './rules/imports.mjs';
import { languageFaults } from './rules/language.mjs';
import { size } from './rules/size.mjs';

const { text, faults } = size();
const all = [...importFaults(), ...exportFaults(), ...languageFaults(), ...faults];
for (const fault of all) console.log(fault);
console.log(text);
if (all.length > 0) console.log(`${all.length} faults`);
process.exitCode = all.length === 0 ? 0 : 1;
