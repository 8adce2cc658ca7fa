import { raw } from '@prisma/client/runtime/client';

/** The time of PostgreSQL in a statement. Prisma writes times in UTC without a time zone. */
export const UTC_NOW = raw(`(now() AT TIME ZONE 'UTC')`);
