import { setImmediate as turn } from 'node:timers/promises';
import type { Journal } from './journal.ts';
import type { SqlValue } from './waiting-writes.ts';

export interface QuarantinedRecord {
  readonly name: string;
  readonly reason: string;
}

export type RecordKind = 'will' | 'delayed will' | 'queued message' | 'subscription' | 'session';

const KINDS: Readonly<Record<RecordKind, { table: string; key: readonly string[] }>> = {
  will: { table: 'will', key: ['client_id'] },
  'delayed will': { table: 'delayed_will', key: ['client_id'] },
  'queued message': { table: 'message', key: ['id'] },
  subscription: { table: 'subscription', key: ['client_id', 'filter'] },
  session: { table: 'session', key: ['client_id'] },
};

/** Maximum number of records in quarantine. Beyond it the oldest are deleted. The log has all of them. */
const MAX_RECORDS = 10_000;

/** Moves records that the broker cannot use into the table `quarantine`, where an operator can inspect them. */
export class Quarantine {
  readonly #journal: Journal;
  readonly #onMoved: (record: QuarantinedRecord) => void;

  constructor(journal: Journal, onMoved: (record: QuarantinedRecord) => void) {
    this.#journal = journal;
    this.#onMoved = onMoved;
  }

  /** Moves a record, if it exists. The caller removes it from memory. */
  move(kind: RecordKind, key: readonly SqlValue[], reason: string): void {
    const { table, key: columns } = KINDS[kind];
    const where = columns.map((column) => `${column} = ?`).join(' AND ');
    this.#journal.flush();
    const [row] = this.#journal.rows<Record<string, SqlValue>>(`SELECT * FROM ${table} WHERE ${where}`, ...key);
    if (!row) return;
    if (kind === 'session') this.#moveParts(String(key[0]), reason);
    this.#put(kind, key, reason, row);
    this.#journal.add(`DELETE FROM ${table} WHERE ${where}`, ...key);
    if (kind === 'queued message') this.#journal.add('DELETE FROM queue WHERE message_id = ?', ...key);
    const name = kind === 'queued message' ? `on "${row.topic}"` : `"${key.join('", "')}"`;
    this.#onMoved({ name: `${kind} ${name.slice(0, 200)}`, reason });
  }

  /** Moves the subscriptions and queued messages of a session. Messages in other queues stay there. */
  #moveParts(clientId: string, reason: string): void {
    const queued = `SELECT queue.*, topic, payload, properties FROM queue JOIN message ON message.id = queue.message_id
      WHERE client_id = ?`;
    for (const row of this.#journal.rows<Record<string, SqlValue>>(queued, clientId)) {
      this.#put('queued message', [clientId, row.position ?? null], reason, row);
    }
    const subscriptions = 'SELECT * FROM subscription WHERE client_id = ?';
    for (const row of this.#journal.rows<Record<string, SqlValue>>(subscriptions, clientId)) {
      this.#put('subscription', [clientId, row.filter ?? null], reason, row);
    }
    this.#journal.add('DELETE FROM queue WHERE client_id = ?', clientId);
    this.#journal.add('DELETE FROM subscription WHERE client_id = ?', clientId);
  }

  #put(kind: RecordKind, key: readonly SqlValue[], reason: string, row: Readonly<Record<string, SqlValue>>): void {
    const columns = Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value,
    ]);
    const record = JSON.stringify(Object.fromEntries(columns));
    const sql = 'INSERT INTO quarantine (at, kind, name, reason, record) VALUES (?, ?, ?, ?, ?)';
    this.#journal.add(sql, Date.now(), kind, key.join(' '), reason, record);
    this.#journal.add(`DELETE FROM quarantine WHERE id <= (SELECT max(id) FROM quarantine) - ${MAX_RECORDS}`);
  }
}

/** Name of the setting that has the current record. */
const NOTE = 'recordOnTrial';

interface Note {
  readonly kind: RecordKind;
  readonly clientId: string;
}

/**
 * Finds a stored record that ends the broker at its start, if failures repeat (`suspicion`). Records are then handled
 * one after the other, and a note on disk names the current one. The next start moves it into quarantine.
 */
export class RecordTrial {
  readonly #journal: Journal;
  readonly #suspicion: string | null;

  constructor(journal: Journal, quarantine: Quarantine, suspicion: string | null) {
    this.#journal = journal;
    this.#suspicion = suspicion;
    const note = journal.setting<Note>(NOTE);
    if (!note) return;
    const detail = suspicion === null ? '' : `: ${suspicion}`;
    quarantine.move(note.kind, [note.clientId], `the broker ended whenever it handled this${detail}`);
    this.#clear();
  }

  get isOn(): boolean {
    return this.#suspicion !== null;
  }

  /** Calls `work` for one record, and waits two iterations of the event loop for its effects. */
  async run(kind: RecordKind, clientId: string, work: () => Promise<void>): Promise<void> {
    if (!this.isOn) {
      await work();
      return;
    }
    this.#journal.putSetting(NOTE, { kind, clientId } satisfies Note);
    this.#journal.flush();
    await work();
    await turn();
    await turn();
    this.#clear();
  }

  #clear(): void {
    this.#journal.add('DELETE FROM setting WHERE name = ?', NOTE);
    this.#journal.flush();
  }
}
