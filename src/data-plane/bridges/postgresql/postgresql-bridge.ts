import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import { SinkBridge } from '../sink/sink-bridge.ts';
import { POSTGRESQL_BATCH } from './postgresql-bridge-kind.ts';
import type { PostgresqlBridgeConfig, PostgresqlConnectionConfig } from './postgresql-config.ts';
import { PostgresqlSink } from './postgresql-sink.ts';

/**
 * Starts a bridge that writes messages to tables of PostgreSQL. Each connection of the configuration has its own
 * session with the broker, its own queue and one connection to the server. The rows of a batch are one transaction, and
 * its messages are acknowledged after the commit. A commit without a response is repeated: without an `idColumn` its
 * rows may be inserted twice.
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
