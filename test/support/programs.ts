import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The URL of a program that was bundled for the run, by the path of its source: `src/….ts` for a worker thread of the
 * product, `test/….mjs` for a program of the tests. global-setup.ts bundles them.
 */
export const programUrl = (path: `src/${string}.ts` | `test/${string}.mjs`): URL =>
  pathToFileURL(join(process.env.TEST_PROGRAMS ?? '', path.replace(/\.\w+$/, '.js')));
