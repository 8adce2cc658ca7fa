/** Bundles the console to src/generated/console: a page, one script and one style sheet. Also writes its types. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { rolldown } from 'rolldown';
import { writePage } from '../page-files.mjs';
import { root } from '../stamps.mjs';

const generated = join(root, 'src/generated');
/** The code is written for React, which is five times as large. */
const PREACT = {
  react: 'preact/compat',
  'react-dom': 'preact/compat',
  'react-dom/client': 'preact/compat/client',
  'react/jsx-runtime': 'preact/jsx-runtime',
};

export async function bundleConsole() {
  writeGraphTypes();
  let style = '';
  const styles = {
    name: 'styles',
    load(id) {
      if (!id.endsWith('.css')) return null;
      style += readFileSync(id, 'utf8');
      return { code: '', moduleType: 'js' };
    },
  };
  const bundle = await rolldown({
    input: join(root, 'console/main.tsx'),
    platform: 'browser',
    resolve: { alias: PREACT },
    transform: { jsx: { runtime: 'automatic' }, define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [styles],
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true, codeSplitting: false });
  await bundle.close();
  const page = readFileSync(join(root, 'console/page.html'), 'utf8');
  writePage(join(generated, 'console'), { name: 'console', script: output[0].code, style }, (scriptName, styleName) =>
    page.replace('$SCRIPT', scriptName).replace('$STYLE', styleName),
  );
}

/** The types of operations of the console. */
export function writeGraphTypes() {
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'));
  const introspection = minifyIntrospection(introspectionFromSchema(schema, { descriptions: false }));
  writeFileSync(
    join(generated, 'graph.d.ts'),
    outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true }),
  );
}
