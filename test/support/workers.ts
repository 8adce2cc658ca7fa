import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The URL of a compiled worker thread by its path in `dist`: the bundled file of the run (global-setup.ts), or the file
 * in `dist`. Worker threads cannot run TypeScript on Node 20.
 */
export function workerUrl(path: string): URL {
  const folder = process.env.TEST_WORKERS ?? fileURLToPath(new URL('../../dist', import.meta.url));
  return pathToFileURL(join(folder, path));
}
