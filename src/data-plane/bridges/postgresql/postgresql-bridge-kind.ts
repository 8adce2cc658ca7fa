import type { InputIssue } from '../../../platform/errors.ts';
import {
  type BridgeKind,
  type BridgeRules,
  configSchema,
  flagSchema,
  hostsOf,
  integerSchema,
  type JsonSchema,
  textSchema,
} from '../model/bridge-kind.ts';
import type { BatchBounds } from '../sink/sink.ts';
import { filterIssues, hostIssues, nameIssues } from '../sink/sink-issues.ts';
import { activeSchema, batchSchema, filtersSchema, nameSchema, qosSchema, queueSchema } from '../sink/sink-schema.ts';
import { tlsMaterialIssues, tlsProperties } from '../sink/tls-material.ts';
import { parseSource } from './column-source.ts';
import {
  DEFAULT_SCHEMA,
  type MappingConfig,
  type PostgresqlBridgeConfig,
  type PostgresqlConnectionConfig,
  STATEMENT_TIMEOUT_MS,
} from './postgresql-config.ts';
import { isAddress, serverAddress } from './server-address.ts';

/** Under load batches grow: messages that arrive during a commit form the next batch. */
export const POSTGRESQL_BATCH: BatchBounds = { maxMessages: 500, maxBytes: 4_194_304, maxDelayMs: 0 };

/** Maximum length of a name in PostgreSQL: NAMEDATALEN - 1. Longer names are truncated. */
const LONGEST_NAME = 63;

const identifier = (description: string) => textSchema(description, { minLength: 1, maxLength: LONGEST_NAME });

const columnSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['column', 'source'],
  description: 'One column and the source of its value.',
  properties: {
    column: identifier('Name of the column, exactly as in the catalog.'),
    source: textSchema(
      'topic: the whole topic. topic[0]: one level, from 0; negative numbers count from the end. ' +
        'payload: the whole payload, as bytes for bytea, otherwise as UTF-8 text. ' +
        'payload.key, payload.key.list[0], payload["any key"]: a value of a JSON payload, or NULL if it does not exist. ' +
        'qos; retain. receivedAt: the time for columns of time, milliseconds since 1970 for numbers, otherwise ISO 8601.',
      { minLength: 1, maxLength: 1_000 },
    ),
    type: {
      enum: ['epochSeconds', 'epochMilliseconds', 'base64'],
      description:
        'How an ambiguous value is read: a number of seconds or milliseconds since 1970 for a column of time; ' +
        'base64 text for bytea.',
    },
  },
};

const mappingSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'topics', 'table', 'columns'],
  description:
    'Topics whose messages become rows of one table. A message that several mappings match becomes a row of each.',
  properties: {
    name: textSchema('Names the mapping; unique in its connection.', { minLength: 1, maxLength: 200 }),
    topics: filtersSchema,
    qos: qosSchema,
    schema: { ...identifier('Schema of the tables.'), default: DEFAULT_SCHEMA },
    table: identifier('Name of the table, exactly as in the catalog. It must exist.'),
    columns: {
      type: 'array',
      minItems: 1,
      maxItems: 500,
      items: columnSchema,
      description: 'Columns with a value from the message. Other columns have their defaults.',
    },
    idColumn: identifier(
      'A column with a unique index of its own. A row whose id already exists is skipped, so that a batch whose commit had no ' +
        'response is not inserted twice. Unless it is one of the columns, each message gets a generated id: its type must be uuid or text.',
    ),
    deadLetterTable: identifier(
      'Table of the same schema for messages that cannot become rows, created if it does not exist: topic text, payload bytea, ' +
        'error text, received_at timestamptz. Without it, such messages are counted as rejected and deleted.',
    ),
  },
};

const connectionSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'mappings'],
  description: 'One connection to one database, with one queue. Messages become rows in the order of their arrival.',
  properties: {
    name: nameSchema,
    active: activeSchema,
    url: textSchema(
      'postgresql://user:password@host:5432/database?sslmode=require. Alternatively use the properties host, port and database.',
      { minLength: 1, maxLength: 2_000 },
    ),
    host: textSchema('Host name or address of the server.', { minLength: 1, maxLength: 255 }),
    port: integerSchema('Port of the server.', [1, 65_535], 5_432),
    database: identifier('Name of the database.'),
    username: textSchema('Role to log in as.', { minLength: 1, maxLength: 200 }),
    password: textSchema('Password of the role.', { maxLength: 2_000, writeOnly: true }),
    tls: flagSchema('Whether the connection is encrypted.', false),
    ...tlsProperties,
    statementTimeoutMs: integerSchema(
      'Timeout of one statement at the server, in milliseconds.',
      [100, 600_000],
      STATEMENT_TIMEOUT_MS,
    ),
    batch: batchSchema(POSTGRESQL_BATCH, 10_000),
    queue: queueSchema,
    mappings: {
      type: 'array',
      minItems: 1,
      maxItems: 100,
      items: mappingSchema,
      description: 'The messages that become rows, and their tables.',
    },
  },
};

export const postgresqlBridgeKind: BridgeKind = {
  id: 'postgresql-bridge',
  api: 'cedalo/postgresql-bridge',
  name: 'PostgreSQL bridge',
  schema: configSchema(
    'PostgreSQL bridge',
    { whole: 'Writes messages to tables of PostgreSQL.', connections: 'Connections to databases.' },
    connectionSchema,
  ),
  empty: { connections: [] } satisfies PostgresqlBridgeConfig,
  addressOf: (connection) => {
    const address = serverAddress(connection as PostgresqlConnectionConfig);
    return isAddress(address) ? `${address.host}:${address.port}` : '';
  },
  check: (config, rules) => {
    const { connections } = config as PostgresqlBridgeConfig;
    return [
      ...nameIssues(connections),
      ...connections.flatMap((connection, index) => connectionIssues(connection, rules, `/connections/${index}`)),
    ];
  },
};

function connectionIssues(connection: PostgresqlConnectionConfig, rules: BridgeRules, path: string): InputIssue[] {
  const address = serverAddress(connection);
  const addressIssues = isAddress(address)
    ? hostIssues(address.host, connection.url === undefined ? '/host' : '/url', hostsOf(rules, connection))
    : address;
  const taken = new Set<string>();
  const mappingIssues = connection.mappings.flatMap((mapping, index) => {
    const issues = issuesOfMapping(mapping).map((issue) => ({ ...issue, path: `/mappings/${index}${issue.path}` }));
    if (taken.has(mapping.name))
      issues.push({ path: `/mappings/${index}/name`, reason: 'is the name of another mapping' });
    taken.add(mapping.name);
    return issues;
  });
  return [...addressIssues, ...tlsMaterialIssues(connection), ...mappingIssues].map((issue) => ({
    ...issue,
    path: `${path}${issue.path}`,
  }));
}

function issuesOfMapping(mapping: MappingConfig): InputIssue[] {
  const issues = filterIssues(mapping.topics, '/topics');
  for (const name of ['schema', 'table', 'idColumn', 'deadLetterTable'] as const) {
    const reason = identifierProblem(mapping[name]);
    if (reason !== null) issues.push({ path: `/${name}`, reason });
  }
  if (mapping.deadLetterTable === mapping.table) {
    issues.push({ path: '/deadLetterTable', reason: 'must be another table than "table"' });
  }
  const columns = new Set<string>();
  for (const [index, { column, source }] of mapping.columns.entries()) {
    const reason = columns.has(column) ? 'is there twice' : identifierProblem(column);
    columns.add(column);
    if (reason !== null) issues.push({ path: `/columns/${index}/column`, reason });
    if (parseSource(source) === null) issues.push({ path: `/columns/${index}/source`, reason: SOURCE_NEEDED });
  }
  return issues;
}

const SOURCE_NEEDED =
  'must be topic, topic[<level>], payload, payload.<key>, payload["<key>"], payload[<index>], qos, retain or receivedAt';

function identifierProblem(name: string | undefined): string | null {
  if (name === undefined) return null;
  if (name.includes('\0')) return 'must not contain NUL';
  return Buffer.byteLength(name) > LONGEST_NAME ? `must not exceed ${LONGEST_NAME} bytes` : null;
}
