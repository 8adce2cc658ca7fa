import { describe, expect, test } from 'vitest';
import { startPostgresqlBridge } from '../../../src/bridges/postgresql/postgresql-bridge.ts';
import type { MappingConfig, PostgresqlConnectionConfig } from '../../../src/bridges/postgresql/postgresql-config.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { bridgeOptions, newFolder, publishAll, runBridge } from '../sink/running-bridge.ts';
import { connectDatabase } from './postgresql-server.ts';

const postgres = usePostgres();

const ALL: MappingConfig = {
  name: 'all',
  topics: ['plant/#'],
  table: 'messages',
  columns: [
    { column: 'topic', source: 'topic' },
    { column: 'payload', source: 'payload' },
  ],
};
const MESSAGES = 'CREATE TABLE messages (n bigserial, topic text NOT NULL, payload text)';

async function startWith(
  sql: string,
  mappings: readonly MappingConfig[],
  rest: Partial<PostgresqlConnectionConfig> = {},
) {
  const url = await postgres.createDatabase();
  const database = await connectDatabase(url);
  await database.query(sql);
  const mosquitto = await startMosquitto();
  const folder = newFolder();
  const config = { connections: [{ name: 'history', url, mappings, ...rest }] };
  const running = await runBridge(
    startPostgresqlBridge,
    bridgeOptions('postgresql-bridge', mosquitto.url, folder),
    config,
  );
  const rows = async (query: string) => (await database.query(query)).rows;
  return { ...running, url, database, rows, mosquitto, folder, config };
}

describe.skipIf(!postgres.available)(`a bridge to PostgreSQL (${postgres.available ? 'real' : UNAVAILABLE})`, () => {
  test('messages become rows in their order', async () => {
    const { until, rows, mosquitto } = await startWith(MESSAGES, [ALL]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    const messages = Array.from({ length: 500 }, (_, index) => [`plant/${index}`, `${index}`] as const);

    await publishAll(client, messages);
    const status = await until(({ delivered }) => delivered === 500);

    expect(status).toMatchObject({ isConnected: true, queuedMessages: 0, received: 500, dropped: 0, rejected: 0 });
    const stored = await rows('SELECT topic, payload FROM messages ORDER BY n');
    expect(stored).toEqual(messages.map(([topic, payload]) => ({ topic, payload })));
  });
});
