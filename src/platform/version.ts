import { readFileSync } from 'node:fs';

/** The version of this package; package.json is beside src and dist alike. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
