import type { PrismaClient } from '../../generated/sqlite/client.ts';

/**
 * The database client. The clients of both engines are generated from the same models, so the type of the SQLite client
 * serves for both.
 */
export type Database = PrismaClient;

/** Database engine by its name in Prisma. */
export type Engine = 'sqlite' | 'postgresql';
