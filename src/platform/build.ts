import { readFileSync } from 'node:fs';

/** The relative path of package.json is the same from src and dist. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
