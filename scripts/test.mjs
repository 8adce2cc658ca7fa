/**
 * `npm test`: sets up what is missing, Debian's brokers and database included where it may, and runs the tests; `--long` runs
 * those that take minutes. The whole suite runs on SQLite, then the suites that touch the database again on PostgreSQL.
 * Other arguments go to vitest. The last line is `N passed, N failed`, where checks
 * that failed before (FAILED_CHECKS) count as failed tests.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPrograms } from './programs.mjs';
import { compile, generate, installPackages, root } from './setup.mjs';

// First, because packages are compiled with some of them.
installPrograms();
installPackages();
generate();
compile();

const args = process.argv.slice(2);
const long = args.includes('--long');
const rest = args.filter((arg) => arg !== '--long');
const reports = mkdtempSync(join(tmpdir(), 'brokergraph-tests-'));

function vitest(name, env, ...more) {
  console.log(`\n=== ${name}`);
  const report = join(reports, `${name.replaceAll(/\W+/g, '-')}.json`);
  const vitestArgs = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...more, ...rest];
  const { status } = spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitestArgs], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const counted = existsSync(report)
    ? JSON.parse(readFileSync(report, 'utf8'))
    : { numPassedTests: 0, numFailedTests: 0 };
  // A file that could not be loaded, or an error outside of tests, fails the run without a failed test.
  const failed = counted.numFailedTests || (status === 0 ? 0 : 1);
  return { passed: counted.numPassedTests, failed, skipped: counted.numPendingTests ?? 0 };
}

const runs = [];
if (long) runs.push(vitest('long tests', { TEST_LONG: 'on', SKIP_BUILD: 'on' }));
else {
  runs.push(vitest('all tests on SQLite', { SKIP_BUILD: 'on' }));
  if (rest.length === 0) {
    const folders = ['test/auth', 'test/users', 'test/projects', 'test/brokers', 'test/contract', 'test/tokens'];
    const present = folders.filter((folder) => existsSync(join(root, folder)));
    runs.push(
      vitest('storage and contract on PostgreSQL', { SKIP_BUILD: 'on', TEST_ENGINE: 'postgresql' }, ...present),
    );
  }
}
rmSync(reports, { recursive: true, force: true });

const failedChecks = Number(process.env.FAILED_CHECKS ?? 0);
if (failedChecks > 0) runs.push({ passed: 0, failed: failedChecks, skipped: 0 });
const sum = (key) => runs.reduce((total, run) => total + run[key], 0);
if (sum('skipped') > 0) console.log(`(${sum('skipped')} skipped)`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = sum('failed') === 0 ? 0 : 1;
