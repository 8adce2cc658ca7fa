import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import { SinkBridge } from '../sink/sink-bridge.ts';
import { POSTGRESQL_BATCH } from './postgresql-bridge-kind.ts';
import type { PostgresqlBridgeConfig, PostgresqlConnectionConfig } from './postgresql-config.ts';
import { PostgresqlSink } from './postgresql-sink.ts';

/**
 * Messages become rows of PostgreSQL: each connection of the configuration has its own session with the broker, its own queue and one
 * connection to the server. Rows of a batch are one transaction, and its messages are acknowledged when it is committed. A commit
 * whose answer got lost is done again: without an `idColumn` its rows may then be there twice.
 */
export function startPostgresqlBridge(options: BridgeOptions): Bridge<PostgresqlBridgeConfig> {
  return new SinkBridge<PostgresqlConnectionConfig>(options, {
    batch: POSTGRESQL_BATCH,
    topicsOf: ({ mappings }) =>
      mappings.flatMap(({ topics, qos = 1 }) => topics.map((filter) => ({ filter, qos }) as const)),
    wantsIds: ({ mappings }) =>
      mappings.some(({ idColumn, columns }) => idColumn !== undefined && !columns.some((c) => c.column === idColumn)),
    createSink: (config) => new PostgresqlSink(config, options.rules),
  });
}
