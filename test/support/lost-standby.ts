import { expect } from 'vitest';
import { openPostgresClient } from './postgres-client.ts';

const COMMIT = `SELECT pg_logical_emit_message(true, 'test', '')`;

/**
 * From now on commits of the server wait for a synchronous standby that does not exist. The function that is returned
 * lets them go on.
 */
export async function loseStandby(url: string): Promise<() => Promise<void>> {
  const [client, probe] = [await openPostgresClient(url), await openPostgresClient(url)];
  await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
  await client.query('SELECT pg_reload_conf()');
  const { pid } = (await probe.query('SELECT pg_backend_pid() AS pid')).rows[0];
  let isPending = false;
  const commit = async () => {
    isPending = true;
    await probe.query(COMMIT).catch(() => undefined);
    isPending = false;
  };
  // The server uses the new setting only a moment later.
  const waitEvent = async () => {
    if (!isPending) void commit();
    return (await client.query('SELECT wait_event FROM pg_stat_activity WHERE pid = $1', [pid])).rows[0].wait_event;
  };
  await expect.poll(waitEvent).toBe('SyncRep');
  return async () => {
    await client.query('ALTER SYSTEM RESET synchronous_standby_names');
    await client.query('SELECT pg_reload_conf()');
  };
}
