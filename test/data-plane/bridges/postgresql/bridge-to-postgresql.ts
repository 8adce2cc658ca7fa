import pg from 'pg';
import { onTestFinished } from 'vitest';
import { startPostgresqlBridge } from '../../../../src/data-plane/bridges/postgresql/postgresql-bridge.ts';
import type {
  MappingConfig,
  PostgresqlBridgeConfig,
  PostgresqlConnectionConfig,
} from '../../../../src/data-plane/bridges/postgresql/postgresql-config.ts';
import { type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bridgeOptions, type RunningBridge, runBridge } from '../sink/running-bridge.ts';

export const ALL: MappingConfig = {
  name: 'all',
  topics: ['plant/#'],
  table: 'messages',
  columns: [
    { column: 'topic', source: 'topic' },
    { column: 'payload', source: 'payload' },
  ],
};
export const MESSAGES = 'CREATE TABLE messages (n bigserial, topic text NOT NULL, payload text)';

interface BridgeToPostgresql extends RunningBridge<PostgresqlBridgeConfig> {
  readonly mosquitto: Mosquitto;
  readonly folder: string;
  readonly config: PostgresqlBridgeConfig;
  rows(query: string): Promise<Record<string, unknown>[]>;
}

/** A bridge from a Mosquitto of its own into a database that has been given these tables. */
export async function startBridgeToPostgresql(
  url: string,
  sql: string,
  mappings: readonly MappingConfig[],
  rest: Partial<PostgresqlConnectionConfig> = {},
  allowedHosts: readonly string[] = [],
): Promise<BridgeToPostgresql> {
  const database = await connectDatabase(url);
  await database.query(sql);
  const mosquitto = await startMosquitto();
  const folder = temporaryFolder();
  const config = { connections: [{ name: 'history', url, mappings, ...rest }] };
  const options = { ...bridgeOptions('postgresql-bridge', mosquitto.url, folder), rules: { allowedHosts } };
  const running = await runBridge(startPostgresqlBridge, options, config);
  return { ...running, mosquitto, folder, config, rows: async (query) => (await database.query(query)).rows };
}

/** A client of the test's own, ended with the test. */
export async function connectDatabase(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // Tests stop servers.
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}
