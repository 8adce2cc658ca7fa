/** Bundles GraphiQL to src/generated/graphiql: a page, one script and one style sheet. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { writePage } from '../page-files.mjs';
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
    input: join(root, 'scripts/graphiql/start.mjs'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [replacements],
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({
    format: 'esm',
    minify: true,
    codeSplitting: false,
    entryFileNames: 'graphiql-[hash].js',
  });
  await bundle.close();
  writePage(folder, { name: 'graphiql', scripts: output, style }, pageWith);
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
