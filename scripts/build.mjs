/** Compiles src to dist, copies the generated files of GraphiQL and makes the command executable. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { noteDone, root } from './stamps.mjs';

rmSync(join(root, 'dist'), { recursive: true, force: true });
const compiler = join(root, 'node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [compiler, '-p', join(root, '.config/tsconfig.build.json')], { stdio: 'inherit' });
cpSync(join(root, 'src/generated/graphiql'), join(root, 'dist/generated/graphiql'), { recursive: true });
const main = join(root, 'dist/main.js');
if (existsSync(main)) chmodSync(main, 0o755);
noteDone('compiled');
