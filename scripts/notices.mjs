/** The licences of packages that are part of bundled files, which must be passed on with them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;
const LICENCE = /^licen[cs]e/i;

/** One text with the licence of each package that has one of the modules, which are given by their paths. */
export function noticesFor(moduleIds) {
  const folders = new Set(moduleIds.map((id) => PACKAGE.exec(id.replace(/^\0/, ''))?.[1]).filter(Boolean));
  const notices = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => LICENCE.test(entry));
    const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
    return `${name} ${version} (${license})${text}\n`;
  });
  return notices.sort().join('\n----\n\n');
}
