import type { Journal, SqlValue } from '../store/journal.ts';
import { keepShared } from './kept-copy.ts';
import type { LogEntry } from './shared-log.ts';

/** What the nodes of a cluster have in common, as it is in their journals. */
interface SharedTable {
  readonly name: string;
  /** What a row is known by, in order. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The one with bytes. */
  readonly payload?: string;
}

const TABLES: readonly SharedTable[] = [
  { name: 'retained', key: ['topic'], columns: ['topic', 'qos', 'properties'], payload: 'payload' },
  { name: 'session', key: ['client_id'], columns: ['client_id', 'about'] },
  { name: 'subscription', key: ['client_id', 'filter'], columns: ['client_id', 'filter', 'qos', 'options'] },
  { name: 'message', key: ['id'], columns: ['id', 'topic', 'properties'], payload: 'payload' },
  {
    name: 'queue',
    key: ['client_id', 'position'],
    columns: ['client_id', 'position', 'message_id', 'qos', 'packet_id', 'released', 'retain'],
  },
  { name: 'incoming', key: ['client_id', 'packet_id'], columns: ['client_id', 'packet_id', 'bytes', 'held'] },
  {
    name: 'delayed_will',
    key: ['client_id'],
    columns: ['client_id', 'topic', 'qos', 'retain', 'properties', 'due'],
    payload: 'payload',
  },
  {
    name: 'presence',
    key: ['client_id'],
    columns: ['client_id', 'node_id', 'run', 'number', 'about'],
    payload: 'will_payload',
  },
];

/** Wills of the last run of a broker that was by itself. */
const OWN_TABLES = ['will'];
/** Rows that are read at once. A message may have 10 MB. */
const PAGE = 50;
/** What waits to be written, before it is waited for. */
const MAX_UNWRITTEN_BYTES = 4 * 1_048_576;

type Row = Record<string, SqlValue>;

/** All that the journal has in common with those of other nodes. Nothing may change until the end. */
export function* snapshotOf(journal: Journal, nextMessage: number): Generator<LogEntry> {
  journal.flush();
  yield { kind: 'next', about: { nextMessage } };
  for (const { name, key, columns, payload } of TABLES) {
    const names = key.join(', ');
    const all = [...columns, ...(payload ? [payload] : [])].join(', ');
    const places = key.map(() => '?').join(', ');
    const first = `SELECT ${all} FROM ${name} ORDER BY ${names} LIMIT ${PAGE}`;
    const next = `SELECT ${all} FROM ${name} WHERE (${names}) > (${places}) ORDER BY ${names} LIMIT ${PAGE}`;
    for (let rows = journal.rows<Row>(first); rows.length > 0; ) {
      for (const row of rows) {
        const about = Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
        // Of the column with bytes.
        const bytes = payload ? ((row[payload] ?? undefined) as Uint8Array | undefined) : undefined;
        yield { kind: name, about, payload: bytes };
      }
      const last = rows.at(-1) ?? {};
      rows = rows.length < PAGE ? [] : journal.rows<Row>(next, ...key.map((column) => last[column] ?? null));
    }
  }
}

/**
 * Puts what another node has in the place of what the journal had in common with others. On disk when it resolves; where it ends before,
 * the journal has no place in the log any more, and a part of a snapshot which the next one replaces.
 */
export async function takeSnapshot(journal: Journal, nodeId: number, entries: AsyncIterable<LogEntry>): Promise<void> {
  keepShared(journal);
  for (const table of [...TABLES.map(({ name }) => name), ...OWN_TABLES, 'log_place'])
    journal.add(`DELETE FROM ${table}`);
  await journal.commit();
  const tables = new Map(TABLES.map((table) => [table.name, table]));
  let unwritten = 0;
  for await (const { kind, about, payload } of entries) {
    if (kind === 'next') {
      // Nothing that is in a log; `reached` writes the true one.
      const sql = 'INSERT OR REPLACE INTO log_place (id, node_id, place, next_message) VALUES (1, ?, ?, ?)';
      journal.add(sql, nodeId, NOWHERE_YET, (about as { nextMessage: number }).nextMessage);
      continue;
    }
    const table = tables.get(kind);
    if (!table) throw new Error(`the other nodes have something that this version does not know: ${kind}`);
    insert(journal, table, about as Row, payload);
    unwritten += 200 + (payload?.length ?? 0);
    if (unwritten < MAX_UNWRITTEN_BYTES) continue;
    unwritten = 0;
    await journal.commit();
  }
  await journal.commit();
}

/** Of a node that has taken a snapshot and not begun with it. */
export const NOWHERE_YET = 'null';

function insert(journal: Journal, { name, columns, payload }: SharedTable, row: Row, bytes: LogEntry['payload']): void {
  const values: SqlValue[] = columns.map((column) => row[column] ?? null);
  const names = [...columns];
  if (payload) {
    names.push(payload);
    values.push(
      typeof bytes === 'string' ? Buffer.from(bytes) : (bytes ?? (payload === 'payload' ? Buffer.alloc(0) : null)),
    );
  }
  const places = names.map(() => '?').join(', ');
  journal.add(`INSERT OR REPLACE INTO ${name} (${names.join(', ')}) VALUES (${places})`, ...values);
}
