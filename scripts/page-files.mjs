/** Files of the pages that the service serves. Each has a copy compressed with Brotli and one with gzip. */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { noticesFor } from './notices.mjs';

/**
 * Replaces the files of a folder by a page and what it loads. `scripts` are the output of a bundler, the entry first;
 * their names contain a hash. `pageWith` returns the page with the names of the entry and the style sheet.
 */
export function writePage(folder, { name, scripts, style }, pageWith) {
  writeFiles(folder, scripts);
  const sheet = `${name}-${createHash('sha256').update(style).digest('hex').slice(0, 16)}.css`;
  write(folder, sheet, style);
  writeFileSync(join(folder, 'page.html'), pageWith(scripts[0].fileName, sheet));
}

/** Replaces the files of a folder by scripts and the licences of the packages in them. */
export function writeFiles(folder, scripts) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { fileName, code } of scripts) write(folder, fileName, code);
  writeFileSync(join(folder, 'notices.txt'), noticesFor(scripts.flatMap(({ moduleIds }) => moduleIds)));
}

function write(folder, file, text) {
  writeFileSync(join(folder, file), text);
  writeFileSync(
    join(folder, `${file}.br`),
    brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_LGWIN]: 22 } }),
  );
  writeFileSync(join(folder, `${file}.gz`), gzipSync(text, { level: 9 }));
}
