/** `npm start`: does the missing setup steps, then runs the service in the same process, which receives all signals. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compile, generate, installPackages } from './setup.mjs';
import { root } from './stamps.mjs';

installPackages();
generate();
compile();
const main = join(root, 'dist/main.js');
process.argv.splice(1, process.argv.length - 1, main, 'serve', ...process.argv.slice(2));
await import(pathToFileURL(main).href);
