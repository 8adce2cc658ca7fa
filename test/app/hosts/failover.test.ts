import { describe, expect, test } from 'vitest';
import { PostgresqlSession } from '../../../src/platform/storage/postgresql/postgresql-session.ts';
import { useNetwork } from '../../support/hosts/network.ts';
import { startPair } from '../../support/hosts/postgres-pair.ts';
import { startPostgres } from '../../support/hosts/postgres-server.ts';
import { isLong } from '../../support/suite.ts';
import { range, report, startWorld, TEST_TIMEOUT_MS } from './hosts-world.ts';

const hosts = useNetwork();

describe.skipIf(hosts.unavailable !== null)('streams', { timeout: TEST_TIMEOUT_MS }, () => {
  test.runIf(isLong)('are not leased from a replica, which grants locks of its own, until it is promoted', async () => {
    const { replica } = await startPair(hosts.network);
    const open = () => PostgresqlSession.open(replica.url(), 'test', () => undefined);
    await expect(open()).rejects.toThrow('the server is a standby');
    await replica.promote();
    const session = await open();
    expect(session.isAlive).toBe(true);
    await session.close();
  });

  test.runIf(isLong)('continue after PostgreSQL was restarted', async () => {
    const database = await startPostgres(hosts.network.host('database'));
    const world = await startWorld(hosts.network, { databaseUrl: database.url() });
    await database.kill();
    await database.start();
    report(`both processes serve all streams ${await seconds(() => world.converged())} s after the restart`);
    await world.passed();
    report(`${await world.complete()} messages came twice; ${world.pauses().length} streams changed the process`);
  });

  test('continue after the primary was killed and the service address moved to its replica', async () => {
    const { databaseUrl, killPrimary, moveToReplica } = await startPair(hosts.network);
    const world = await startWorld(hosts.network, { databaseUrl });
    await killPrimary();
    await moveToReplica();
    report(`both processes serve all streams ${await seconds(() => world.converged())} s after the failover`);
    await world.passed();
    report(`${await world.complete()} messages came twice; ${world.pauses().length} streams changed the process`);
  });

  test.runIf(isLong)('run in one process if the previous primary is cut off with the other one', async () => {
    const { network } = hosts;
    const pair = await startPair(network, { isSynchronous: true });
    const { primary, replica, databaseUrl } = pair;
    const world = await startWorld(network, { databaseUrl });
    // The holder of the streams still reaches the previous primary, which has lost its synchronous standby.
    network.cut(world.other.host, [primary.host]);
    network.cut(replica.host, [primary.host, world.holder.host]);
    await pair.moveToReplica();
    report(
      `the streams run at the new primary ${(await world.takenOver(world.holder)).toFixed(1)} s after it was promoted`,
    );
    // Only a pause that is positive proves that the previous holder had disconnected by itself.
    report(`paused for ${range(world.pauses())}`);
    expect(Math.min(...world.pauses())).toBeGreaterThan(0);
    await pair.killPrimary();
    network.healAll();
    pair.announce();
    await world.converged();
    await world.complete();
  });
});

async function seconds(work: () => Promise<unknown>): Promise<string> {
  const from = performance.now();
  await work();
  return ((performance.now() - from) / 1_000).toFixed(1);
}
