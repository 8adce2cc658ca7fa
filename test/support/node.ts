import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The newest Node of a major version, which is installed once into the checkout. */
export const nodeOf = (major: string): string => {
  const script = fileURLToPath(new URL('../../scripts/node.mjs', import.meta.url));
  return execFileSync(process.execPath, [script, major], { encoding: 'utf8', stdio: 'pipe' }).trim();
};
