/**
 * Brings a checkout to the point where it runs: packages, generated code, compiled code. Does only what is out of date, and
 * says what it does; when nothing is, it only reads a few files and file times.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamps = join(root, 'node_modules/.brokergraph');

/** Runs a command and tells what it does; ends this process, with `advice`, when the command fails. */
function run(what, advice, command, ...args) {
  process.stderr.write(`${what} …\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  process.stderr.write(`${what} failed${error ? `: ${error.message}` : ''}.${advice && ` ${advice}`}\n`);
  process.exit(1);
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

const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));

/**
 * Whether somebody has installed the packages already: npm's own record of node_modules holds what the lock file names
 * (packages of other platforms may be missing), and the compiled one was compiled for this Node.
 */
function packagesAreThere() {
  const record = 'node_modules/.package-lock.json';
  if (!existsSync(join(root, record))) return false;
  const { packages: wanted } = readJson('package-lock.json');
  const { packages: present } = readJson(record);
  const { dependencies, devDependencies } = readJson('package.json');
  const named = (list) => JSON.stringify(Object.entries(list).sort());
  if (named(dependencies) !== named(wanted[''].dependencies)) return false;
  if (named(devDependencies) !== named(wanted[''].devDependencies)) return false;
  for (const [path, { version, optional }] of Object.entries(wanted)) {
    const found = present[path]?.version;
    if (path !== '' && found !== version && !(optional && found === undefined)) return false;
  }
  try {
    const Database = createRequire(import.meta.url)('better-sqlite3');
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

export function installPackages() {
  once('packages', hashOf('package-lock.json', 'package.json'), 'node_modules/typescript', () => {
    if (packagesAreThere()) return;
    run(
      'Installing packages (better-sqlite3 is compiled where no binary fits: about a minute)',
      'Where better-sqlite3 is compiled, python3, make and g++ are needed (Debian: apt-get install python3 make g++).',
      'npm',
      'ci',
      '--no-audit',
      '--no-fund',
    );
  });
}

export function generate() {
  const state = hashOf('prisma/schema.prisma', 'scripts/generate.mjs', 'package-lock.json');
  once('generated', state, 'src/generated/pothos.ts', () =>
    run('Generating the database clients', '', process.execPath, 'scripts/generate.mjs'),
  );
}

export function compile() {
  const state = treeState('src') + hashOf('tsconfig.json', '.config/tsconfig.build.json', 'scripts/build.mjs');
  once('compiled', state, 'dist/main.js', () => run('Compiling', '', process.execPath, 'scripts/build.mjs'));
}
