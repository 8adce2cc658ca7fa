/**
 * Bundles the console to src/generated/console: a page, its scripts and one style sheet. Also writes its types, and
 * src/generated/embed: the script with its elements for other pages.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { rolldown } from 'rolldown';
import { writeFiles, writePage } from '../page-files.mjs';
import { root } from '../stamps.mjs';

const generated = join(root, 'src/generated');
/** Latin letters, digits and signs of Inter, from weight 400 to 600. */
const FONT = join(root, 'console/font/inter.woff2');
const FONT_LICENCE = join(root, 'console/font/licence.txt');
/** The code is written for React, which is five times as large. */
const PREACT = {
  react: 'preact/compat',
  'react-dom': 'preact/compat',
  'react-dom/client': 'preact/compat/client',
  'react/jsx-runtime': 'preact/jsx-runtime',
};

/** With `isReact`, the console is bundled with React instead of Preact. */
export async function bundleConsole({ folder = join(generated, 'console'), isReact = false } = {}) {
  writeGraphTypes();
  const { output, style } = await bundled('main.tsx', isReact ? {} : PREACT, [], {
    entryFileNames: 'console-[hash].js',
    chunkFileNames: 'console-[name]-[hash].js',
  });
  const preloads = output[0].imports.map((name) => `<link rel="modulepreload" href="console/${name}">`);
  const page = readFileSync(join(root, 'console/page.html'), 'utf8').replace('$PRELOADS', preloads.join('\n'));
  const font = `console-inter-${createHash('sha256').update(readFileSync(FONT)).digest('hex').slice(0, 16)}.woff2`;
  const sheet = style.replace('inter.woff2', font);
  writePage(folder, { name: 'console', scripts: output, style: sheet }, (scriptName, styleName) =>
    page.replace('$SCRIPT', scriptName).replace('$STYLE', styleName),
  );
  copyFileSync(FONT, join(folder, font));
  appendFileSync(join(folder, 'notices.txt'), `\n----\n\nInter (OFL-1.1)\n\n${readFileSync(FONT_LICENCE, 'utf8')}`);
}

/** wouter changes `history` when this module is loaded. Elements have no address, and leave the page as it is. */
const withoutAddress = {
  name: 'without-address',
  load: (id) =>
    /wouter[\\/]src[\\/]use-browser-location\.js$/.test(id)
      ? 'export const useBrowserLocation = undefined; export const useSearch = undefined;'
      : null,
};

const CATALOGUES = join(root, 'console/texts/catalogues');

/** Texts in other languages than English are files of their own, which elements load if their page needs them. */
const withoutCatalogues = {
  name: 'without-catalogues',
  resolveId(source) {
    const [, language] = /catalogues\/(\w+)\.json$/.exec(source) ?? [];
    return language === undefined ? null : { id: `./embed/${language}.js`, external: true };
  },
};

/** One script with its style sheet, which applies inside the elements only, and the texts of other languages. */
export async function bundleEmbed() {
  const { output, style } = await bundled('embed/main.tsx', PREACT, [withoutAddress, withoutCatalogues], {
    entryFileNames: 'embed.js',
    codeSplitting: false,
  });
  const sheet = JSON.stringify(style.replaceAll(':root', ':host'));
  const code = output[0].code.replace(/(["'`])\$STYLE\1/, () => sheet);
  const texts = readdirSync(CATALOGUES).map((name) => ({
    fileName: name.replace('.json', '.js'),
    code: `export default ${JSON.stringify(JSON.parse(readFileSync(join(CATALOGUES, name), 'utf8')))};`,
    moduleIds: [],
  }));
  writeFiles(join(generated, 'embed'), [{ ...output[0], code }, ...texts]);
}

async function bundled(entry, alias, plugins, names) {
  const styles = new Map();
  const collected = {
    name: 'styles',
    load(id) {
      if (!id.endsWith('.css')) return null;
      styles.set(id, readFileSync(id, 'utf8'));
      return { code: '', moduleType: 'js' };
    },
  };
  const bundle = await rolldown({
    input: join(root, 'console', entry),
    platform: 'browser',
    resolve: { alias },
    transform: { jsx: { runtime: 'automatic' }, define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [collected, ...plugins],
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true, ...names });
  await bundle.close();
  // Files are loaded in any order. The sheets of `ui` have the defaults, which those of the screens change.
  const style = [...styles]
    .sort(([a], [b]) => Number(isDefault(b)) - Number(isDefault(a)) || a.localeCompare(b))
    .map(([, text]) => text)
    .join('');
  return { output, style };
}

const isDefault = (file) => file.includes('/console/ui/');

/** The types of operations of the console. */
export function writeGraphTypes() {
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'));
  const introspection = minifyIntrospection(introspectionFromSchema(schema, { descriptions: false }));
  writeFileSync(
    join(generated, 'graph.d.ts'),
    outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true }),
  );
}
