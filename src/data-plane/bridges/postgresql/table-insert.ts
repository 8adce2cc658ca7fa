import type { Client } from 'pg';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { SinkFailure } from '../sink/sink.ts';
import { compileColumn, type MessageParts, type ReadColumn, readMessageId, type SqlValue } from './column-value.ts';
import { DEFAULT_SCHEMA, type MappingConfig } from './postgresql-config.ts';
import { columnNamed, isList, readColumns, type TableColumn } from './table-columns.ts';

export interface TableInsert {
  readonly mapping: MappingConfig;
  matches(topic: string): boolean;
  /** Errors: BadBatch. */
  rowOf(parts: MessageParts): readonly SqlValue[];
  /** One statement for any number of rows. */
  insert(client: Client, rows: readonly (readonly SqlValue[])[]): Promise<unknown>;
  /** Plans the statement, with the checks of types and of permissions, and does not execute it. */
  explain(client: Client): Promise<unknown>;
}

/** Errors: SinkFailure if the table or a column does not exist or cannot be written. */
export async function prepareInsert(client: Client, mapping: MappingConfig, number: number): Promise<TableInsert> {
  const { schema = DEFAULT_SCHEMA, table, idColumn } = mapping;
  const columns = await readColumns(client, schema, table);
  const place = `"${schema}"."${table}"`;
  if (columns === null) throw new SinkFailure('FAILED', `There is no table ${place}`);
  const targets = mapping.columns.map(({ column }) => columnNamed(columns, column, place));
  const readers: ReadColumn[] = mapping.columns.map((config, index) =>
    compileColumn(config, targets[index] as TableColumn),
  );
  if (idColumn !== undefined) {
    const column = columnNamed(columns, idColumn, place);
    if (!column.isUnique) throw new SinkFailure('FAILED', `${place} has no unique index of "${idColumn}" alone`);
    if (!targets.includes(column)) {
      targets.push(column);
      readers.push(readMessageId);
    }
  }
  const text = insertText(schema, table, targets, idColumn);
  return {
    mapping,
    matches: (topic) => mapping.topics.some((filter) => filterMatches(filter, topic)),
    rowOf: (parts) => readers.map((read) => read(parts)),
    insert: (client, rows) => {
      const values = targets.map((_, column) => rows.map((row) => row[column] ?? null));
      return client.query({ name: `insert-${number}`, text, values });
    },
    explain: (client) =>
      client.query(
        `EXPLAIN ${text}`,
        targets.map(() => []),
      ),
  };
}

/**
 * Each column is one parameter, a list, so the statement is the same for any number of rows, and is prepared once. List
 * columns get texts, because `unnest` would flatten lists of lists.
 */
function insertText(
  schema: string,
  table: string,
  targets: readonly TableColumn[],
  idColumn: string | undefined,
): string {
  const names = targets.map(({ name }) => quoted(name)).join(', ');
  const values = targets.map(({ type, form }, index) => (isList(form) ? `r.c${index}::${type}` : `r.c${index}`));
  const lists = targets.map(({ type, form }, index) => `$${index + 1}::${isList(form) ? 'text' : type}[]`);
  const aliases = targets.map((_, index) => `c${index}`);
  const conflict = idColumn === undefined ? '' : ` ON CONFLICT (${quoted(idColumn)}) DO NOTHING`;
  return (
    `INSERT INTO ${quoted(schema)}.${quoted(table)} (${names}) ` +
    `SELECT ${values.join(', ')} FROM unnest(${lists.join(', ')}) AS r(${aliases.join(', ')})${conflict}`
  );
}

const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

const DEAD_LETTER_COLUMNS = ['topic', 'payload', 'error', 'received_at'] as const;

/** Creates the table if needed. Errors: SinkFailure if it lacks a column; those of the server. */
export async function prepareDeadLetters(client: Client, mapping: MappingConfig): Promise<void> {
  if (await hasDeadLetters(client, mapping)) return;
  // Another connection may create it at the same time.
  await client.query(
    `CREATE TABLE IF NOT EXISTS ${deadLettersOf(mapping)} (topic text NOT NULL, payload bytea NOT NULL, error text NOT NULL, ` +
      'received_at timestamptz NOT NULL)',
  );
}

/** Whether `prepareDeadLetters` and `insertDeadLetter` would succeed. Changes nothing. Errors: as those. */
export async function checkDeadLetters(client: Client, mapping: MappingConfig): Promise<void> {
  const { schema = DEFAULT_SCHEMA, deadLetterTable } = mapping;
  if (deadLetterTable === undefined) return;
  if (await hasDeadLetters(client, mapping)) {
    await client.query(
      `EXPLAIN ${insertDeadLetterText(mapping)}`,
      DEAD_LETTER_COLUMNS.map(() => null),
    );
    return;
  }
  const { rows } = await client.query<{ may: boolean }>("SELECT has_schema_privilege($1, 'CREATE') AS may", [schema]);
  if (rows[0]?.may) return;
  throw new SinkFailure('FAILED', `There is no table ${deadLettersOf(mapping)}, and the role may not create it`);
}

/** Also true if none is wanted. Errors: SinkFailure if the table lacks a column. */
async function hasDeadLetters(client: Client, mapping: MappingConfig): Promise<boolean> {
  const { schema = DEFAULT_SCHEMA, deadLetterTable } = mapping;
  if (deadLetterTable === undefined) return true;
  const columns = await readColumns(client, schema, deadLetterTable);
  if (columns === null) return false;
  const place = deadLettersOf(mapping);
  for (const name of DEAD_LETTER_COLUMNS) columnNamed(columns, name, place);
  if (columns.get('payload')?.form !== 'bytes') {
    throw new SinkFailure('FAILED', `The column "payload" of ${place} must be of type bytea`);
  }
  return true;
}

const deadLettersOf = ({ schema = DEFAULT_SCHEMA, deadLetterTable = '' }: MappingConfig): string =>
  `${quoted(schema)}.${quoted(deadLetterTable)}`;

const insertDeadLetterText = (mapping: MappingConfig): string =>
  `INSERT INTO ${deadLettersOf(mapping)} (${DEAD_LETTER_COLUMNS.join(', ')}) VALUES ($1, $2, $3, $4)`;

/** PostgreSQL stores no U+0000, which brokers that do not validate topics pass on. */
export async function insertDeadLetter(
  client: Client,
  mapping: MappingConfig,
  { topic, payload, receivedAt }: BridgeMessage,
  error: string,
): Promise<void> {
  if (mapping.deadLetterTable === undefined) return;
  const values = [topic.replaceAll('\0', '\u{FFFD}'), payload, error, new Date(receivedAt).toISOString()];
  await client.query(insertDeadLetterText(mapping), values);
}
