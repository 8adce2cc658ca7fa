import { expect, onTestFinished } from 'vitest';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { startCluster } from '../../../support/postgres.ts';
import { ALL, connectDatabase, MESSAGES, startBridgeToPostgresql } from './bridge-to-postgresql.ts';
import { startLoad } from './load.ts';

interface Outage {
  /** Receives the connection while the server is down; resolves when the server is to start again. */
  during(
    until: (condition: (status: BridgeConnectionStatus) => boolean) => Promise<BridgeConnectionStatus>,
  ): Promise<unknown>;
}

/** Kills a server under load and starts it again: every message is stored once, in order, and none is dropped. */
export async function showOutage({ during }: Outage): Promise<void> {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  const sql = `${MESSAGES}; ALTER TABLE messages ADD id uuid UNIQUE`;
  const { until, mosquitto } = await startBridgeToPostgresql(cluster.url, sql, [{ ...ALL, idColumn: 'id' }]);
  await until(({ state }) => state === 'CONNECTED');
  const load = startLoad(await mosquitto.client());
  await until(({ delivered }) => delivered >= 500);

  await cluster.kill();
  const down = await until(({ state }) => state !== 'CONNECTED');
  expect(down).toMatchObject({
    state: 'UNREACHABLE',
    isConnected: false,
    error: expect.stringContaining('PostgreSQL'),
  });
  await during(until);
  await cluster.startAgain();
  await until(({ state }) => state === 'CONNECTED');
  const published = await load.end();
  const status = await until(({ delivered }) => delivered === published);

  expect(status).toMatchObject({ received: published, queuedMessages: 0, dropped: 0, rejected: 0 });
  const database = await connectDatabase(cluster.url);
  const { rows } = await database.query('SELECT payload FROM messages ORDER BY n');
  const numbers = rows.map(({ payload }) => Number(payload));
  expect(numbers).toHaveLength(published);
  expect(numbers).toEqual(numbers.map((_, index) => index));
}
