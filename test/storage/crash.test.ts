import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newDatabaseUrl, openTestStorage, temporaryFolder } from '../support/database.ts';
import { describeEngines } from '../support/engines.ts';
import { startStorageProcess } from '../support/storage-process.ts';

const KILLS = 6;
/** How many rows a process may store before it is killed. */
const MOST_ROWS = 120;

describeEngines((engine, postgres) => {
  test('a process killed at any moment has lost nothing that it was told is stored', async () => {
    const dataDir = temporaryFolder();
    const databaseUrl = await newDatabaseUrl(engine, postgres);
    const acknowledged: string[] = [];
    for (let round = 0; round < KILLS; round++) {
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
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS);
  });
});

test('a second process is refused the data folder, and gets it once the first was killed', async () => {
  const dataDir = temporaryFolder();
  const first = await startStorageProcess('hold', dataDir, undefined);

  const refused = openTestStorage({ dataDir, databaseUrl: undefined });

  await expect(refused).rejects.toMatchObject({ code: 'IN_USE' });
  await expect(refused).rejects.toThrow(`process ${first.pid} `);
  await expect(refused).rejects.toThrow(dataDir);
  await first.kill();
  await openTestStorage({ dataDir, databaseUrl: undefined });
});

test('a second opener in the same process is refused, and the first keeps the folder', async () => {
  const dataDir = temporaryFolder();
  const first = await openTestStorage({ dataDir, databaseUrl: undefined });
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(openTestStorage({ dataDir, databaseUrl: undefined })).rejects.toMatchObject({ code: 'IN_USE' });
  }
  await first.close();
  await openTestStorage({ dataDir, databaseUrl: undefined });
});

test('a refused process leaves the folder as it is', async () => {
  const dataDir = temporaryFolder();
  await openTestStorage({ dataDir, databaseUrl: undefined });
  const owner = readFileSync(join(dataDir, 'lock.owner'), 'utf8');
  await expect(startStorageProcess('hold', dataDir, undefined)).rejects.toThrow('IN_USE');
  expect(readFileSync(join(dataDir, 'lock.owner'), 'utf8')).toBe(owner);
});
