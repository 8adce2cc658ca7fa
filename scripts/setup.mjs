/**
 * Brings a checkout to the point where it runs: packages, generated code, compiled code. Does only what is out of date, and
 * says what it does; when nothing is, it only reads a few file times.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamps = join(root, 'node_modules/.brokergraph');

function run(what, command, ...args) {
  process.stderr.write(`${what} …\n`);
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 2, 'inherit'] });
}

/** Runs `step` unless it has run for this very state of its inputs and what it makes is still there. */
function once(name, state, made, step) {
  const stamp = join(stamps, name);
  if (existsSync(join(root, made)) && existsSync(stamp) && readFileSync(stamp, 'utf8') === state) return;
  step();
  mkdirSync(stamps, { recursive: true });
  writeFileSync(stamp, state);
}

const hashOf = (...files) => {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(root, file)));
  return hash.update(process.version).digest('hex');
};

/** Names, sizes and times of everything below a folder. */
function treeState(folder) {
  const hash = createHash('sha256');
  const visit = (path) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const child = join(path, entry.name);
      if (entry.isDirectory()) visit(child);
      else {
        const { size, mtimeMs } = statSync(child);
        hash.update(`${child} ${size} ${mtimeMs}\n`);
      }
    }
  };
  visit(join(root, folder));
  return hash.digest('hex');
}

export function installPackages() {
  once('packages', hashOf('package-lock.json', 'package.json'), 'node_modules/typescript', () =>
    run(
      'Installing packages (better-sqlite3 is compiled where no binary fits: about a minute)',
      'npm',
      'ci',
      '--no-audit',
      '--no-fund',
    ),
  );
}

export function generate() {
  const state = hashOf('prisma/schema.prisma', 'scripts/generate.mjs', 'package-lock.json');
  once('generated', state, 'src/generated/pothos.ts', () =>
    run('Generating the database clients', process.execPath, 'scripts/generate.mjs'),
  );
}

export function compile() {
  const state = treeState('src') + hashOf('tsconfig.json', '.config/tsconfig.build.json');
  once('compiled', state, 'dist/main.js', () => run('Compiling', process.execPath, 'scripts/build.mjs'));
}
