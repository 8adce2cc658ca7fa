import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Inside node_modules, so that imports of packages resolve. */
const PARENT = join(ROOT, 'node_modules/.brokergraph');
const PROGRAM = /^(src\/.*(^|[/-])worker\.ts|test\/.*-(process|worker)\.mjs)$/;

/** Bundles a program into one file. Packages with native code stay outside. */
export async function bundleProgram(input: string, file: string): Promise<void> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    // They load their code from their own folder. Prisma's adapter recognises pools of its own pg only.
    external: [/better-sqlite3/, /@node-rs/, /^pg$/, /pg-native/, /@prisma/],
    plugins: [urlsOfSources],
    logLevel: 'silent',
  });
  // A thread reads minified code in two thirds of the time.
  await bundle.write({ file, codeSplitting: false, minify: true });
  await bundle.close();
}

/** Modules of the project find files relative to their sources. */
const urlsOfSources = {
  name: 'urls-of-sources',
  transform: (code: string, id: string) =>
    !id.includes('/node_modules/') && code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
};

/**
 * Bundles each worker thread of the product, and each program of the tests that runs parts of it in a thread or
 * process, into one file. Node 20 cannot run TypeScript. Tests start hundreds of threads, and loading the packages of a
 * thread one by one would take most of its start.
 */
export async function bundlePrograms(): Promise<{ readonly folder: string; remove(): void }> {
  mkdirSync(PARENT, { recursive: true });
  const folder = mkdtempSync(join(PARENT, 'programs-'));
  // One program runs as another user.
  chmodSync(folder, 0o755);
  const paths = ['src', 'test'].flatMap((name) =>
    readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' }).map((path) => `${name}/${path}`),
  );
  for (const path of paths.filter((path) => PROGRAM.test(path))) {
    await bundleProgram(join(ROOT, path), join(folder, path.replace(/\.\w+$/, '.js')));
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
