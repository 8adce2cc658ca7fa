import { open, rename, rm } from 'node:fs/promises';

/** Mode 0600. Another process sees what was there or what is there now, whole, also after a loss of power. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  // Left by a process that was killed, it would keep its own mode.
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
