import type { PrismaClient } from '../../generated/sqlite/client.ts';

/** The database client. Both engines have the same models, so the type of the SQLite client serves for both. */
export type Database = PrismaClient;

export type Engine = 'sqlite' | 'postgresql';
