/**
 * Brings a checkout to the point where it runs: packages, generated code, compiled code. Does only what is out of date, and
 * says what it does; when nothing is, it only reads the sources.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isDone, noteDone, root } from './stamps.mjs';

/** Runs a command and tells what it does; ends this process, with `advice`, when the command fails. */
function run(what, advice, command, ...args) {
  process.stderr.write(`${what} …\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  process.stderr.write(`${what} failed${error ? `: ${error.message}` : ''}.${advice && ` ${advice}`}\n`);
  process.exit(1);
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
  if (isDone('packages')) return;
  if (!packagesAreThere()) {
    run(
      'Installing packages (better-sqlite3 is compiled where no binary fits: about a minute)',
      'Where better-sqlite3 is compiled, python3, make and g++ are needed (Debian: apt-get install python3 make g++).',
      'npm',
      'ci',
      '--no-audit',
      '--no-fund',
    );
  }
  noteDone('packages');
}

export function generate() {
  if (!isDone('generated')) run('Generating the database clients', '', process.execPath, 'scripts/generate.mjs');
}

export function compile() {
  if (!isDone('compiled')) run('Compiling', '', process.execPath, 'scripts/build.mjs');
}
