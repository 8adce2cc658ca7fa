import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = (process.env.PATH ?? '').split(delimiter);

/** promtool of Prometheus, which checks metrics and evaluates alerts. */
export const hasPromtool = folders.some((folder) => existsSync(join(folder, 'promtool')));

export const PROMTOOL_MISSING = 'promtool is not installed (Debian: apt-get install prometheus)';
