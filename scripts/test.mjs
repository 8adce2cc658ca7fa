/**
 * Runs the tests. First it does the missing setup steps: Debian packages (as root), npm packages, generated and
 * compiled code. test/support/suite.ts defines which tests run.
 *
 *   npm test                    the short suite
 *   npm run test:all            all tests, then the smoke tests on the newest Node 22 and 26
 *   npm run test:long           only the tests that take minutes each
 *   npm run test:brokers        the tests that run a Mosquitto, against the one of MOSQUITTO_BINARY
 *   npm run test:stress -- test/domains/streams --times 5 --load 12 --at-once 12
 *                               the tests of a folder, `--times` times, next to as many busy processes as `--load`,
 *                               with `--at-once` files at the same time
 *
 * `--checks` also runs the checks of a change, next to the tests. `--budgets` writes test-budgets.json. Other arguments
 * are passed to vitest.
 *
 * The last line is `N passed, N failed`. It counts failed checks, and files over their budget of processor time, as
 * failed tests. The lines above it list each failure with its reason. Failed tests are not retried, because a retry
 * hides defects.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { newestNode } from './node.mjs';
import { installPrograms } from './programs.mjs';
import { compile, generate, installPackages } from './setup.mjs';
import { root } from './stamps.mjs';
import { showResults, writeBudgets } from './test-results.mjs';

/** The versions of Node that the smoke tests run on, in addition to the version of the run. */
const SMOKE_NODES = ['22', '26'];
const CHECKS = [
  ['scripts/check.mjs'],
  ['scripts/migration.mjs', '--check', '--engine', 'sqlite'],
  // Known advisories of dependencies; a registry that does not answer is a note.
  ['scripts/advisories.mjs'],
];

const { values: options, positionals: rest } = parseArgs({
  strict: false,
  allowPositionals: true,
  options: {
    all: { type: 'boolean' },
    long: { type: 'boolean' },
    checks: { type: 'boolean' },
    budgets: { type: 'boolean' },
    brokers: { type: 'boolean' },
    stress: { type: 'boolean' },
    times: { type: 'string', default: '1' },
    load: { type: 'string', default: '0' },
    'at-once': { type: 'string' },
  },
});

// A failed setup step exits the process.
const onSetupFailed = () => console.log('0 passed, 1 failed');
process.once('exit', onSetupFailed);
installPrograms();
installPackages();
generate();
compile();
process.off('exit', onSetupFailed);

/** Contains all temporary files of this run. */
const folder = mkdtempSync(join(tmpdir(), 'brokergraph-tests-'));
const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});
// Vitest receives the signals, too.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
// PostgreSQL and Mosquitto run as other users.
chmodSync(folder, 0o755);
const temporary = join(folder, 'tmp');
mkdirSync(temporary, { mode: 0o755 });

function start(command, args, settings) {
  const child = spawn(command, args, { cwd: root, ...settings });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

const closed = (child) => new Promise((resolve) => child.once('close', resolve));

/** The result of a file that could not run: one failed test. */
const failed = (name, error) => ({ passed: 0, skipped: 0, cpu: 0, failures: [{ name, error }] });

/** Runs vitest, and returns the results of each file, see test-reporter.mjs. */
async function vitest(name, env, node = process.execPath) {
  const startedAt = Date.now();
  console.log(`\n=== ${name}`);
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const atOnce = options['at-once'] === undefined ? {} : { TEST_AT_ONCE: options['at-once'] };
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/test-reporter.mjs')}`];
  const child = start(node, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...rest], {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
      // Hundreds of processes load the same modules.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      SKIP_BUILD: 'on',
      TEST_POSTGRES: 'shared',
      TEST_REPORT: report,
      TMPDIR: temporary,
      ...atOnce,
      ...env,
    },
  });
  const status = await closed(child);
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  if (status !== 0 && !Object.values(files).some(({ failures }) => failures.length > 0)) {
    files[''] = failed('vitest', [`ended with status ${status}`]);
  }
  const seconds = Math.round((Date.now() - startedAt) / 1_000);
  console.log(`${name}: ${seconds} s`);
  return { name, seconds, files };
}

/** A file that vitest left out is a failure: it ignores, for example, projects with a negative group order. */
async function allTests() {
  const run = await vitest('all tests', { TEST_SUITE: 'all', TEST_ON_POSTGRESQL: 'on', FUZZ_SECONDS: '20' });
  for (const path of readdirSync(join(root, 'test'), { recursive: true })) {
    const file = join(root, 'test', path);
    if (path.endsWith('.test.ts')) run.files[file] ??= failed('the file itself', ['did not run']);
  }
  return run;
}

/** Runs a check next to the tests. The result is that of a test file with one test. */
async function check(args) {
  const child = start(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const status = await closed(child);
  const passed = { passed: 1, skipped: 0, cpu: 0, failures: [] };
  const lines = output.trimEnd().split('\n').slice(-30);
  return { [args.join(' ')]: status === 0 ? passed : failed('the check', lines) };
}

async function checks() {
  const files = {};
  for (const args of CHECKS) Object.assign(files, await check(args));
  return { name: 'checks', files };
}

/** A Node that cannot be installed is a failure of its run, so that the summary has the other results. */
async function smoke(name, major) {
  try {
    return await vitest(name, { TEST_SUITE: 'smoke' }, newestNode(major));
  } catch (error) {
    return { name, files: { '': failed('Node', [error.message]) } };
  }
}

async function* testRuns() {
  if (options.long) yield vitest('long tests', { TEST_LONG: 'on' });
  else if (options.stress) {
    for (let number = 1; number <= Number(options.times); number += 1) yield vitest(`stress ${number}`, {});
  } else if (options.brokers)
    yield vitest('the tests that run a Mosquitto', { TEST_SUITE: 'brokers', FUZZ_SECONDS: '10' });
  else if (rest.length > 0) yield vitest('the named tests', {});
  else if (options.all) {
    yield allTests();
    for (const major of SMOKE_NODES) yield smoke(`smoke tests on Node ${major}`, major);
  } else yield vitest('the short suite', { TEST_SUITE: 'short', FUZZ_SECONDS: '10' });
}

const busy = ['-e', 'for (;;);'];
for (let number = 0; number < Number(options.load); number += 1) start(process.execPath, busy, { stdio: 'ignore' });
const checking = options.checks ? checks() : null;
const results = [];
for await (const result of testRuns()) results.push(result);
if (options.budgets) writeBudgets(results);
if (checking !== null) results.push(await checking);
process.exitCode = showResults(results, { hasBudgets: options.all === true && !options.stress }) ? 0 : 1;
for (const child of children) child.kill();
