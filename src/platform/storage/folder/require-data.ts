import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ServiceError } from '../../errors.ts';
import { hasSecretKey } from '../encryption/secret-key.ts';
import { SQLITE_FILE } from '../storage.ts';

interface Place {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
}

/**
 * Checks that a service has used the data folder and the database: a command on a misspelled name would succeed on
 * nothing. Creates nothing. Errors: ServiceError INVALID, also if the folder cannot be read; those of the database.
 */
export async function requireData({ dataDir, databaseUrl }: Place): Promise<void> {
  const folder = resolve(dataDir);
  const hasData = exists(databaseUrl === undefined ? join(folder, SQLITE_FILE) : folder);
  if (!hasData) throw new ServiceError('INVALID', `There is no data in ${folder}. Set DATA_DIR`);
  if (databaseUrl !== undefined) await requireTables(databaseUrl);
}

/** Checks that no key would be generated, which opens no secret of PostgreSQL. Errors: ServiceError INVALID. */
export function requireKey({
  dataDir,
  databaseUrl,
  secretKey,
}: Place & { readonly secretKey: string | undefined }): void {
  if (databaseUrl === undefined || secretKey !== undefined || hasSecretKey(dataDir)) return;
  throw new ServiceError('INVALID', `There is no secret.key in ${resolve(dataDir)}. Set DATA_DIR or SECRET_KEY`);
}

async function requireTables(databaseUrl: string): Promise<void> {
  const { closePostgresql, connectPostgresql } = await import('../postgresql/postgresql-connection.ts');
  const client = await connectPostgresql(databaseUrl, 'command');
  try {
    const { rows } = await client.query<{ exists: boolean }>(
      `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS exists`,
    );
    if (rows[0]?.exists) return;
    throw new ServiceError('INVALID', `There is no data in the database ${client.database}. Set DATABASE_URL`);
  } finally {
    await closePostgresql(client);
  }
}

function exists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new ServiceError('INVALID', `The data folder cannot be read: ${message}`, { cause });
  }
}
