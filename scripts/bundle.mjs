/** Bundles TypeScript modules of src: Node loads 90 files in a third of the time of 900 modules. */
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './stamps.mjs';

const src = join(root, 'src');
const jsOf = (path) => path.replace(/\.ts$/, '.js');

/** `import.meta.url` of a bundled module stays the URL that the module itself would have in the folder. */
const urlsOfModules = {
  name: 'urls-of-modules',
  transform(code, id) {
    if (!id.startsWith(src) || !code.includes('import.meta.url')) return null;
    return code.replaceAll('import.meta.url', `__urlOf(${JSON.stringify(jsOf(relative(src, id)))})`);
  },
  renderChunk: (code, { fileName }) =>
    code.replaceAll(/__urlOf\("([^"]+)"\)/g, (_call, path) => {
      const fromChunk = relative(dirname(fileName), path);
      return `new URL(${JSON.stringify(`./${fromChunk}`)}, import.meta.url).href`;
    }),
};

/** Paths in src of the worker threads. Each is a file of its own, at the same path in the bundle. */
export const workers = () =>
  readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => /(^|[/-])worker\.ts$/.test(path));

/**
 * Prisma's adapter is bundled, because version 7.10 depends on better-sqlite3 12, which aborts on Node 24.19 to 24.21.
 * npm ignores the overrides of an installed package, so an installation would contain both versions.
 */
const BUNDLED = /^@prisma\/(adapter-better-sqlite3|debug|driver-adapter-utils)$/;

/** Bundles modules of src, by their paths in src, to the same paths in `folder`. Other packages remain imports. */
export async function bundle(paths, folder) {
  const bundled = await rolldown({
    input: Object.fromEntries(paths.map((path) => [path.replace(/\.ts$/, ''), join(src, path)])),
    platform: 'node',
    external: (id) => /^[^./]/.test(id) && !BUNDLED.test(id),
    plugins: [urlsOfModules],
    logLevel: 'warn',
  });
  await bundled.write({ dir: folder, entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' });
  await bundled.close();
}
