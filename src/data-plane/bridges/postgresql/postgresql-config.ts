import type { SinkConnectionConfig } from '../sink/sink.ts';
import type { TlsMaterial } from '../sink/tls-material.ts';

export interface PostgresqlBridgeConfig {
  readonly connections: readonly PostgresqlConnectionConfig[];
}

export interface PostgresqlConnectionConfig extends SinkConnectionConfig, ServerConfig {
  readonly statementTimeoutMs?: number;
  readonly mappings: readonly MappingConfig[];
}

/** The address of the server: `url`, or its parts. Credentials outside of the URL take precedence. */
export interface ServerConfig extends TlsMaterial {
  readonly url?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: boolean;
}

export interface MappingConfig {
  readonly name: string;
  readonly topics: readonly string[];
  readonly qos?: 0 | 1 | 2;
  readonly schema?: string;
  readonly table: string;
  readonly columns: readonly ColumnConfig[];
  readonly idColumn?: string;
  readonly deadLetterTable?: string;
}

export interface ColumnConfig {
  readonly column: string;
  readonly source: string;
  readonly type?: ColumnReading;
}

export type ColumnReading = 'epochSeconds' | 'epochMilliseconds' | 'base64';

export const DEFAULT_SCHEMA = 'public';
export const STATEMENT_TIMEOUT_MS = 30_000;
