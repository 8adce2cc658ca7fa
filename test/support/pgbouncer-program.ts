import { existsSync } from 'node:fs';

export const PGBOUNCER = '/usr/sbin/pgbouncer';
export const hasPgbouncer = existsSync(PGBOUNCER);
export const PGBOUNCER_MISSING = 'PgBouncer is not installed (Debian: apt-get install pgbouncer)';
