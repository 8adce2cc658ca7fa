import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Compiled code and what npm installs have folders that others read or delete; packages must be found from here. */
const PARENT = join(ROOT, 'node_modules/.brokergraph');

/**
 * Each worker thread of the product as one file, below a folder with the same paths as `dist`. A thread loads some 200 files, which is twice
 * the work of all else it does at its start, and tests start hundreds. How the product has them is tried by tests of its processes.
 */
export async function bundleWorkers(): Promise<{ readonly folder: string; remove(): void }> {
  const compiled = join(ROOT, 'dist');
  const workers = readdirSync(compiled, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|[/-])worker\.js$/.test(path),
  );
  mkdirSync(PARENT, { recursive: true });
  const folder = mkdtempSync(join(PARENT, 'workers-'));
  for (const path of workers) {
    // Packages with a compiled part look for it in their own folder.
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
