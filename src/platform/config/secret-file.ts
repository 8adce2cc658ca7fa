import { closeSync, openSync, readSync } from 'node:fs';

/** Longer than any secret. */
const MAX_BYTES = 65_536;

/**
 * Returns the text of a file without the newline at its end, which editors add. Errors: Error with a message that
 * completes "SECRET_KEY_FILE: …", also if the file is empty or larger than 64 KiB; it never contains the text.
 */
export function readSecretFile(file: string): string {
  const bytes = Buffer.alloc(MAX_BYTES + 1);
  const length = readStart(file, bytes);
  if (length > MAX_BYTES) throw new Error(`the file ${file} is larger than ${MAX_BYTES} bytes`);
  const text = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '');
  if (text === '') throw new Error(`the file ${file} is empty`);
  return text;
}

function readStart(file: string, bytes: Buffer): number {
  try {
    const fd = openSync(file, 'r');
    try {
      for (let length = 0; ; ) {
        const more = readSync(fd, bytes, length, bytes.length - length, null);
        length += more;
        if (more === 0) return length;
      }
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new Error(`the file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
}
