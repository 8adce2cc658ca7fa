/**
 * Bundles GraphiQL to src/generated/graphiql: a page, one script and one style sheet. Their names contain a hash of
 * their contents, and each has a copy compressed with Brotli and one with gzip.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { root } from '../stamps.mjs';

const folder = join(root, 'src/generated/graphiql');
const REPLACED = ['framer-motion', 'react-remove-scroll'];

export async function bundleGraphiql() {
  let style = '';
  const replacements = {
    name: 'replacements',
    resolveId: (id) => (REPLACED.includes(id) ? join(root, 'scripts/graphiql/replacements.mjs') : null),
    load(id) {
      if (!id.endsWith('.css')) return null;
      // Fonts take 250 kB and cannot be compressed. Those of the system are used instead.
      style += readFileSync(id, 'utf8').replaceAll(/@font-face *\{[^}]*\}/g, '');
      return { code: '', moduleType: 'js' };
    },
  };
  const bundle = await rolldown({
    input: join(root, 'scripts/graphiql/page.mjs'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [replacements],
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true, codeSplitting: false });
  await bundle.close();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'page.html'), pageWith(write('js', output[0].code), write('css', style)));
}

/** Returns the name of the file. */
function write(ending, text) {
  const name = `graphiql-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${ending}`;
  const file = join(folder, name);
  writeFileSync(file, text);
  writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_LGWIN]: 22 } }));
  writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
  return name;
}

/** Relative URLs, so that a proxy may serve the page below a path. */
const pageWith = (script, style) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Brokergraph</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="graphiql/${style}">
<script type="module" src="graphiql/${script}"></script>
</head>
<body><div id="graphiql"></div></body>
</html>
`;
