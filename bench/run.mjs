/**
 * `node bench/run.mjs graphql`: installs the peers if they are missing, compiles the product and the benchmark, and
 * runs it. A benchmark with its own `tsconfig.<name>.json` needs no peers.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bench = dirname(fileURLToPath(import.meta.url));
const root = dirname(bench);
const [name, ...options] = process.argv.slice(2);
if (!name || !existsSync(join(bench, `${name}.ts`))) {
  console.error(
    'usage: node bench/run.mjs graphql|rest|compression|inspect|console|console-load|access-index|access-write|access-burst|dynsec|footprint|fan-out|stream-store|stored-messages|stream-query|streams|bridge|bridge-queues|bridge-sinks|topic-tree|audit|audit-processes|audit-reading|embedded|retained|scale|hostile',
  );
  process.exit(2);
}
const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
const own = join(bench, `tsconfig.${name}.json`);
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8'));
const peers = Object.keys({ ...dependencies, ...devDependencies });
if (!existsSync(own) && !peers.every((peer) => existsSync(join(bench, 'node_modules', peer))))
  run('npm', ['ci', '--no-audit', '--no-fund'], bench);
run(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', existsSync(own) ? own : join(bench, 'tsconfig.json')],
  root,
);
run(process.execPath, [join(bench, 'dist/bench', `${name}.js`), ...options], root);
