import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * A compiled worker thread (threads cannot run TypeScript on Node 20) by its path below `dist`: the single file that a run makes of it
 * (global-setup.ts), or the product's own.
 */
export function workerUrl(path: string): URL {
  const folder = process.env.TEST_WORKERS ?? fileURLToPath(new URL('../../dist', import.meta.url));
  return pathToFileURL(join(folder, path));
}
