/** Files of the pages that the service serves. Each has a copy compressed with Brotli and one with gzip. */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/**
 * Replaces the files of a folder by a page and what it loads. `pageWith` returns the page with the names of the script
 * and the style sheet, which contain a hash of their contents.
 */
export function writePage(folder, { name, script, style }, pageWith) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (ending, text) => {
    const file = `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${ending}`;
    writeFileSync(join(folder, file), text);
    writeFileSync(
      join(folder, `${file}.br`),
      brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_LGWIN]: 22 } }),
    );
    writeFileSync(join(folder, `${file}.gz`), gzipSync(text, { level: 9 }));
    return file;
  };
  writeFileSync(join(folder, 'page.html'), pageWith(write('js', script), write('css', style)));
}
