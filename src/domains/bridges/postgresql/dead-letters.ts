import type { Client } from 'pg';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { SinkFailure } from '../sink/sink.ts';
import { DEFAULT_SCHEMA, type MappingConfig } from './postgresql-config.ts';
import { columnNamed, readColumns } from './table-columns.ts';
import { quoted } from './table-insert.ts';

const COLUMNS = ['topic', 'payload', 'error', 'received_at'] as const;

/**
 * Creates the table if needed. Errors: SinkFailure if it lacks a column; those of the server if it may not be created.
 */
export async function prepareDeadLetters(client: Client, { schema = DEFAULT_SCHEMA, deadLetterTable }: MappingConfig) {
  if (deadLetterTable === undefined) return;
  const columns = await readColumns(client, schema, deadLetterTable);
  const place = `${quoted(schema)}.${quoted(deadLetterTable)}`;
  if (columns === null) {
    // Another connection may create it at the same time.
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${place} (topic text NOT NULL, payload bytea NOT NULL, error text NOT NULL, ` +
        'received_at timestamptz NOT NULL)',
    );
    return;
  }
  for (const name of COLUMNS) columnNamed(columns, name, place);
  if (columns.get('payload')?.form !== 'bytes') {
    throw new SinkFailure('FAILED', `The column "payload" of ${place} must be of type bytea`);
  }
}

/** Does nothing if the mapping has no such table. */
export async function insertDeadLetter(
  client: Client,
  { schema = DEFAULT_SCHEMA, deadLetterTable }: MappingConfig,
  { topic, payload, receivedAt }: BridgeMessage,
  error: string,
): Promise<void> {
  if (deadLetterTable === undefined) return;
  await client.query(
    `INSERT INTO ${quoted(schema)}.${quoted(deadLetterTable)} (${COLUMNS.join(', ')}) VALUES ($1, $2, $3, $4)`,
    [topic, payload, error, new Date(receivedAt).toISOString()],
  );
}
