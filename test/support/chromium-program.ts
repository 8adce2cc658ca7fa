import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = (process.env.PATH ?? '').split(delimiter);

/** Without its windows, Chromium takes a sixth less processor time. */
const PROGRAM = ['chromium-headless-shell', 'chromium']
  .flatMap((name) => folders.map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

export const hasChromium = PROGRAM !== undefined;
export const CHROMIUM_MISSING = 'chromium is not installed (Debian: apt-get install chromium-headless-shell)';

/** Path of the program. Errors: CHROMIUM_MISSING. */
export function chromiumProgram(): string {
  if (PROGRAM === undefined) throw new Error(CHROMIUM_MISSING);
  return PROGRAM;
}
