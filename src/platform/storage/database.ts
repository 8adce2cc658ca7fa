import type { PrismaClient } from '../../generated/sqlite/client.ts';

/**
 * The database as every service sees it. Both engines' clients are generated from the same models, so the SQLite client's
 * type stands for both.
 */
export type Database = PrismaClient;

/** What keeps the data, by its name in Prisma. */
export type Engine = 'sqlite' | 'postgresql';
