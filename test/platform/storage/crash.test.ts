import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';
import { startStorageProcess } from '../../support/storage-process.ts';
import { checkKilledWriters } from './killed-writer.ts';

describeEngines((engine, postgres) => {
  test('a process that is killed at any time loses no acknowledged write', () =>
    checkKilledWriters(engine, postgres, 2));
});

test('a second process is refused the data folder until the first one is killed', async () => {
  const dataDir = temporaryFolder();
  const first = await startStorageProcess('hold', dataDir, undefined);

  const refused = openTestStorage({ dataDir, databaseUrl: undefined });

  await expect(refused).rejects.toMatchObject({ code: 'IN_USE' });
  await expect(refused).rejects.toThrow(`process ${first.pid} `);
  await expect(refused).rejects.toThrow(dataDir);
  await first.kill();
  await openTestStorage({ dataDir, databaseUrl: undefined });
});

test('a second opener in the same process is refused, and the first still owns the folder', async () => {
  const dataDir = temporaryFolder();
  const first = await openTestStorage({ dataDir, databaseUrl: undefined });
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(openTestStorage({ dataDir, databaseUrl: undefined })).rejects.toMatchObject({ code: 'IN_USE' });
  }
  await first.close();
  await openTestStorage({ dataDir, databaseUrl: undefined });
});

test('a refused process does not change the folder', async () => {
  const dataDir = temporaryFolder();
  await openTestStorage({ dataDir, databaseUrl: undefined });
  const owner = readFileSync(join(dataDir, 'lock.owner'), 'utf8');
  await expect(startStorageProcess('hold', dataDir, undefined)).rejects.toThrow('IN_USE');
  expect(readFileSync(join(dataDir, 'lock.owner'), 'utf8')).toBe(owner);
});
