/**
 * Runs the tests. First it does the missing setup steps: Debian packages (as root), npm packages, generated and
 * compiled code. Without an argument it runs the short suite (`npm test`). `--all` also runs the rest, `--long` only
 * the tests that take minutes each. test/support/suite.ts defines the suites. Other arguments are passed to vitest.
 *
 * The last line is `N passed, N failed`. It counts checks that failed before as failed tests; the folder FAILED_CHECKS
 * contains the output of each. The lines above it list each failure with its reason. Failed tests are not retried,
 * because a retry hides defects.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { installPrograms } from './programs.mjs';
import { compile, generate, installPackages } from './setup.mjs';
import { root } from './stamps.mjs';

/** Maximum number of failures in the summary, so that a log's last lines contain all of it. */
const MAX_SHOWN = 20;
const MAX_COSTLY = 10;
/** Lines of the output of a failed check. */
const MAX_LINES = 30;

/** Excludes files that always use PostgreSQL, and files that use no database. */
const ON_POSTGRESQL = {
  auth: ['guessing', 'local-login', 'many-subscriptions', 'own-sessions', 'rights.test'].concat([
    'second-factor',
    'sessions',
    'shared-rights',
  ]),
  brokers: ['brokers', 'broker-metrics.test', 'license', 'runtimes'],
  streams: ['hosting/lease.test', 'replay-subscription', 'rest', 'truth/ttl'],
};

// First, because packages are compiled with some of them.
installPrograms();
installPackages();
generate();
compile();

const MODES = ['--all', '--long'];
const args = process.argv.slice(2);
const isAll = args.includes('--all');
const isLong = args.includes('--long');
const rest = args.filter((arg) => !MODES.includes(arg));
/** Contains all temporary files of this run. */
const folder = mkdtempSync(join(tmpdir(), 'brokergraph-tests-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
// Vitest receives the signals, too.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
// PostgreSQL and Mosquitto run as other users.
chmodSync(folder, 0o755);
const temporary = join(folder, 'tmp');
mkdirSync(temporary, { mode: 0o755 });

/** Runs vitest, and returns the result of each file, see test-reporter.mjs. */
function vitest(name, env, ...more) {
  console.log(`\n=== ${name}`);
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const vitestArgs = ['run', '--reporter=default', `--reporter=${join(root, 'scripts/test-reporter.mjs')}`, ...more];
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitestArgs], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SKIP_BUILD: 'on', TEST_REPORT: report, TMPDIR: temporary, ...env },
  });
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  if (status !== 0 && failuresOf({ name, files }).length === 0)
    files[''] = {
      passed: 0,
      skipped: 0,
      cpu: 0,
      failures: [{ name: 'vitest', error: [`ended with status ${status}`] }],
    };
  return { name, files };
}

function failuresOf({ name, files }) {
  return Object.entries(files).flatMap(([file, { failures }]) =>
    failures.map((failure) => ({ run: name, file, ...failure })),
  );
}

function show(title, failures) {
  for (const { run, file, name, error } of failures.slice(0, MAX_SHOWN)) {
    console.log(`${title}: ${relative(root, file)} > ${name} (${run})`);
    for (const line of error) console.log(`    ${line}`);
  }
  if (failures.length > MAX_SHOWN) console.log(`${title}: ${failures.length - MAX_SHOWN} more`);
}

/** The processor time of the run and of its most costly files. Wall time depends on the load of the machine. */
function showCost() {
  const costs = runs.flatMap(({ name, files }) =>
    Object.entries(files).map(([file, { cpu }]) => ({ name, file, cpu })),
  );
  const total = costs.reduce((sum, { cpu }) => sum + cpu, 0);
  const costly = costs.sort((a, b) => b.cpu - a.cpu).slice(0, MAX_COSTLY);
  console.log(`${Math.round(total)} s of processor time; the most costly files:`);
  for (const { name, file, cpu } of costly)
    console.log(`${cpu.toFixed(1).padStart(8)} s  ${relative(root, file)} (${name})`);
}

const runs = [];
const run = (name, env, ...more) => {
  const start = Date.now();
  runs.push(vitest(name, env, ...more));
  console.log(`${name}: ${Math.round((Date.now() - start) / 1_000)} s`);
};
if (isLong) run('long tests', { TEST_LONG: 'on', TEST_POSTGRES: 'shared' }, ...rest);
else if (rest.length > 0) run('the named tests', {}, ...rest);
else {
  // The rest of the suite fuzzes for FUZZ_SECONDS.
  run('the short suite', { TEST_SUITE: 'short', TEST_POSTGRES: 'shared', FUZZ_SECONDS: '10' });
  if (isAll) {
    run('the rest', { TEST_SUITE: 'rest', TEST_POSTGRES: 'shared' });
    const suites = ['test/domains/users', 'test/domains/projects', 'test/contract', 'test/domains/tokens']
      .concat(ON_POSTGRESQL.auth.map((name) => `test/platform/auth/${name}`))
      .concat(ON_POSTGRESQL.brokers.map((name) => `test/domains/brokers/${name}`))
      .concat(ON_POSTGRESQL.streams.map((name) => `test/domains/streams/${name}`))
      .concat('test/domains/processes')
      .concat('test/domains/jobs');
    run('storage and contract on PostgreSQL', { TEST_ENGINE: 'postgresql' }, ...suites);
  }
}
const failures = runs.flatMap(failuresOf);

const checksFolder = process.env.FAILED_CHECKS ?? '';
const failedChecks = checksFolder === '' ? [] : readdirSync(checksFolder);
const counted = (key) =>
  runs.flatMap(({ files }) => Object.values(files)).reduce((total, file) => total + file[key], 0);
console.log('');
showCost();
show('failed', failures);
for (const name of failedChecks) {
  console.log(`failed: ${name}`);
  const lines = readFileSync(join(checksFolder, name), 'utf8').trimEnd().split('\n');
  for (const line of lines.slice(-MAX_LINES)) console.log(`    ${line}`);
}
if (counted('skipped') > 0) console.log(`(${counted('skipped')} skipped)`);
const failed = failures.length + failedChecks.length;
console.log(`${counted('passed')} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
