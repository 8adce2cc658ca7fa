import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../src/generated/console');

/** In bytes, compressed with gzip. */
const MAX_SIGN_IN = 45_000;
const MAX_FIRST_LOAD = 75_000;
const MAX_SCREEN = 100_000;
const MAX_ELEMENTS = 100_000;
const MAX_FONT = 22_000;
/** Editors of code are loaded when one is opened. */
const EDITOR = /editor|code-?mirror/i;

const scripts = readdirSync(FOLDER).filter((name) => name.endsWith('.js'));
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => String(name));
const staticImports = (name: string) =>
  namesIn(textOf(name), /(?:\bfrom|\bimport)\s*["'`]\.\/(console-[\w.-]+\.js)["'`]/g);
const lazyImports = (name: string) => namesIn(textOf(name), /\bimport\(\s*["'`]\.\/(console-[\w.-]+\.js)["'`]\s*\)/g);

/** The files, and all that they import. */
function loadedWith(...names: readonly string[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const add = (name: string) => {
    if (loaded.has(name)) return;
    loaded.add(name);
    staticImports(name).forEach(add);
  };
  names.forEach(add);
  return loaded;
}

const sizeOf = (loaded: ReadonlySet<string>) =>
  [...loaded].reduce((total, name) => total + statSync(join(FOLDER, `${name}.gz`)).size, 0);

const entry = String(namesIn(textOf('page.html'), /src="console\/(console-[\w.-]+\.js)"/g)[0]);
const lazy = [...new Set(scripts.flatMap(lazyImports))];

test('the sign-in is small, and so is the first load with the fleet and its charts', () => {
  expect(sizeOf(loadedWith(entry))).toBeLessThanOrEqual(MAX_SIGN_IN);
  const fleet = lazy.find((name) => name.includes('-fleet-'));
  expect(fleet).toBeDefined();
  const size = sizeOf(loadedWith(entry, String(fleet)));
  expect(size).toBeGreaterThan(20_000);
  expect(size).toBeLessThanOrEqual(MAX_FIRST_LOAD);
});

test('the typeface is a small file that the style sheet names', () => {
  const sheets = readdirSync(FOLDER).filter((name) => name.endsWith('.css'));
  const fonts = namesIn(textOf(String(sheets[0])), /url\("(console-[\w-]+\.woff2)"\)/g);
  expect(fonts).toHaveLength(1);
  expect(statSync(join(FOLDER, String(fonts[0]))).size).toBeLessThanOrEqual(MAX_FONT);
});

test('no screen loads much more, except for editors', () => {
  expect(lazy.length).toBeGreaterThan(3);
  const large = lazy
    .filter((name) => !EDITOR.test(name))
    .map((name) => ({ name, size: sizeOf(loadedWith(entry, name)) }))
    .filter(({ size }) => size > MAX_SCREEN);
  expect(large).toEqual([]);
});

test('texts in other languages are loaded only in these', () => {
  const languages = scripts.filter((name) => /^console-(?:de|es|fr)-/.test(name));
  expect(languages).toHaveLength(3);
  const others = lazy.filter((name) => !languages.includes(name));
  const inEnglish = loadedWith(entry, ...others);
  expect(languages.filter((name) => inEnglish.has(name))).toEqual([]);
});

test('each script is loaded by the page', () => {
  expect([...loadedWith(entry, ...lazy)].sort()).toEqual(scripts.sort());
});

test('the elements for other pages are one small script and one for each other language, which leaves the page as it is', () => {
  const folder = join(FOLDER, '../embed');
  expect(readdirSync(folder).sort()).toEqual(
    [
      ...['embed', 'de', 'es', 'fr'].flatMap((name) => [`${name}.js`, `${name}.js.br`, `${name}.js.gz`]),
      'notices.txt',
    ].sort(),
  );
  expect(statSync(join(folder, 'embed.js.gz')).size).toBeLessThanOrEqual(MAX_ELEMENTS);
  const script = readFileSync(join(folder, 'embed.js'), 'utf8');
  expect(script.match(/localStorage|sessionStorage|BroadcastChannel|document\.title|wouter_v3|\$STYLE/g)).toBeNull();
});

test('the licences of the packages in the scripts are with them', () => {
  const notices = textOf('notices.txt');
  for (const name of ['preact', 'wouter', '@codemirror/view']) expect(notices).toContain(`${name} `);
  expect(notices.match(/Permission is hereby granted/g)?.length).toBeGreaterThan(10);
});
