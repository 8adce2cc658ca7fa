/** What was made of which state of the sources, so that nobody makes it again: noted by whatever makes it, under any command. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'node_modules/.brokergraph');

/** What is made of the inputs, files and folders, and a file that is there then. */
const STEPS = {
  packages: { inputs: ['package-lock.json', 'package.json'], made: 'node_modules/typescript' },
  generated: {
    inputs: ['prisma/schema.prisma', 'scripts/generate.mjs', 'package-lock.json'],
    made: 'src/generated/pothos.ts',
  },
  compiled: {
    inputs: ['src', 'tsconfig.json', '.config/tsconfig.build.json', 'scripts/build.mjs'],
    made: 'dist/main.js',
  },
};

/** Whether the step was done for this very state of its inputs, and what it makes is still there. */
export function isDone(step) {
  const stamp = join(folder, step);
  return existsSync(join(root, STEPS[step].made)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === stateOf(step);
}

export function noteDone(step) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, step), stateOf(step));
}

/** By contents: a checkout that went to another commit and back is the same. */
function stateOf(step) {
  const hash = createHash('sha256').update(process.version);
  const add = (path, isFolder) => {
    if (!isFolder) hash.update(`${path}\n`).update(readFileSync(join(root, path)));
    else {
      for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
        add(`${path}/${entry.name}`, entry.isDirectory());
      }
    }
  };
  for (const input of STEPS[step].inputs) add(input, input === 'src');
  return hash.digest('hex');
}
