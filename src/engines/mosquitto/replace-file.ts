import { open, rename, rm } from 'node:fs/promises';

/** Replaces a file atomically, also after a loss of power, with mode 0600. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  // A file left by a killed process would keep its mode.
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
