import { expect } from 'vitest';
import type { Engine } from '../../../src/platform/storage/database.ts';
import { newDatabaseUrl, openTestStorage, temporaryFolder } from '../../support/database.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { startStorageProcess } from '../../support/storage-process.ts';

/** How many rows a process may store before it is killed. */
const MOST_ROWS = 120;

/** Kills processes that store rows in one database, one after the other, and checks each time for acknowledged rows. */
export async function checkKilledWriters(engine: Engine, postgres: TestPostgres, kills: number): Promise<void> {
  const dataDir = temporaryFolder();
  const databaseUrl = await newDatabaseUrl(engine, postgres);
  const acknowledged: string[] = [];
  for (let round = 0; round < kills; round++) {
    const writer = await startStorageProcess('write', dataDir, databaseUrl);
    const killAfter = 1 + Math.floor(Math.random() * MOST_ROWS);
    let seen = 0;
    for await (const id of writer.lines) {
      // Whatever it still said before it died counts too; the last line may be cut.
      if (id.length === 36) acknowledged.push(id);
      if (++seen === killAfter) void writer.kill();
    }
    await writer.kill();

    const storage = await openTestStorage({ dataDir, databaseUrl });
    const rows = new Set((await storage.db.user.findMany({ select: { id: true } })).map(({ id }) => id));
    await storage.close();

    expect(acknowledged.filter((id) => !rows.has(id))).toEqual([]);
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(kills);
}
