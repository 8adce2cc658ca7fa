/**
 * `node bench/run.mjs graphql`: compiles the product and the benchmarks, and runs one. Installs the packages of its
 * peers if they are missing.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../scripts/stamps.mjs';

/** Benchmarks whose peers are packages of bench/package.json. */
const WITH_PEERS = ['graphql', 'rest', 'streams'];

const bench = dirname(fileURLToPath(import.meta.url));
const [name, ...options] = process.argv.slice(2);
if (!name || !existsSync(join(bench, `${name}.ts`))) {
  console.error(
    'usage: node bench/run.mjs graphql|rest|compression|inspect|console|console-load|access-index|access-write|access-burst|dynsec|footprint|fan-out|message-log|stream-query|streams|bridge|bridge-queues|bridge-sinks|topic-tree|audit|audit-processes|audit-reading|embedded|retained|scale|fleet|hostile|history|client-events|problems',
  );
  process.exit(2);
}
const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
if (WITH_PEERS.includes(name)) {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8'));
  const peers = Object.keys({ ...dependencies, ...devDependencies });
  if (!peers.every((peer) => existsSync(join(bench, 'node_modules', peer))))
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], bench);
}
run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(bench, 'tsconfig.json')], root);
// The product reads its version from two folders above `dist/src/platform`.
copyFileSync(join(root, 'package.json'), join(bench, 'dist/package.json'));
run(process.execPath, [join(bench, 'dist/bench', `${name}.js`), ...options], root);
