/** `npm run check`: format and lint, types, and the rules of the sources. Prints the output of what failed. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { generate, installPackages, installSchemaLint } from './setup.mjs';
import { root } from './stamps.mjs';

installPackages();
generate();
installSchemaLint();

const TSC = 'node_modules/typescript/bin/tsc';
const checks = [
  ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  [TSC, '-p', 'tsconfig.json'],
  [TSC, '-p', 'console/tsconfig.json'],
  ['scripts/rules.mjs'],
  ['scripts/schema-lint.mjs'],
];

async function run(args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const status = await new Promise((resolve) => child.once('close', resolve));
  console.log(`${status === 0 ? 'passed' : 'failed'}: ${args.join(' ')}`);
  if (status !== 0 || args.length === 1) console.log(output.trimEnd());
  if (status !== 0) process.exitCode = 1;
}

const waiting = checks.values();
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (const args of waiting) await run(args);
  }),
);
