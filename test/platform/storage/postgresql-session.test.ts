import { describe, expect, onTestFinished, test } from 'vitest';
import { PostgresqlSession } from '../../../src/platform/storage/postgresql/postgresql-session.ts';
import { loseStandby } from '../../support/lost-standby.ts';
import { findPostgresPrograms, startCluster, UNAVAILABLE } from '../../support/postgres.ts';
import { openPostgresClient } from '../../support/postgres-client.ts';

const available = findPostgresPrograms() !== null;

describe.skipIf(!available)(`a session${available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('is not opened while commits wait for a standby; attempts leave one connection at the server', async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.stop());
    const open = () => PostgresqlSession.open(cluster.url, 'test', () => undefined);
    const before = await open();
    expect(before.isAlive).toBe(true);
    await before.close();
    const endCommits = await loseStandby(cluster.url);
    await expect(open()).rejects.toThrow('the server has not responded in time');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(open()).rejects.toThrow('the server waits for a synchronous standby');
    }
    const client = await openPostgresClient(cluster.url);
    const sessions = async () => {
      const { rows } = await client.query(`SELECT FROM pg_stat_activity WHERE application_name = 'brokergraph test'`);
      return rows.length;
    };
    await expect.poll(sessions).toBe(1);
    await endCommits();
    await expect.poll(sessions).toBe(0);
    const after = await open();
    expect(after.isAlive).toBe(true);
    await after.close();
  });
});
