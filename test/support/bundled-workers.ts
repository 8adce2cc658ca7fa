import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Inside node_modules, so that imports of packages resolve. Builds delete `dist`. */
const PARENT = join(ROOT, 'node_modules/.brokergraph');

/**
 * Bundles each worker thread of the product into one file, with the same path as in `dist`. Tests start hundreds of
 * threads, and loading the 200 files of a thread takes two thirds of its start. Tests that run the product as a process
 * cover the files in `dist`.
 */
export async function bundleWorkers(): Promise<{ readonly folder: string; remove(): void }> {
  const compiled = join(ROOT, 'dist');
  const workers = readdirSync(compiled, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|[/-])worker\.js$/.test(path),
  );
  mkdirSync(PARENT, { recursive: true });
  const folder = mkdtempSync(join(PARENT, 'workers-'));
  for (const path of workers) {
    // Packages with native code load it from their own folder.
    const bundle = await rolldown({
      input: join(compiled, path),
      platform: 'node',
      external: [/better-sqlite3/, /@node-rs/, /pg-native/],
      logLevel: 'silent',
    });
    await bundle.write({ file: join(folder, path), codeSplitting: false });
    await bundle.close();
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
