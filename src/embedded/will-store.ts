import type { Journal } from './journal.ts';

export interface WillPacket {
  topic: string;
  payload: Uint8Array | string;
  qos: number;
  retain: boolean;
  /** The run of the broker that took it; none: an earlier one. */
  brokerId?: string;
  clientId?: string;
}

/** The wills of connected clients, one each: in memory, and in the journal so that those of a run that was killed are published. */
export class WillStore {
  readonly #journal: Journal;
  readonly #wills = new Map<string, WillPacket>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    type WillRow = { client_id: string; topic: string; payload: Buffer; qos: number; retain: number };
    for (const { client_id, topic, payload, qos, retain } of this.#journal.rows<WillRow>('SELECT * FROM will')) {
      this.#wills.set(client_id, { topic, payload, qos, retain: retain === 1, clientId: client_id });
    }
  }

  all(): WillPacket[] {
    return [...this.#wills.values()];
  }

  get(clientId: string): WillPacket | undefined {
    return this.#wills.get(clientId);
  }

  put(clientId: string, will: WillPacket): void {
    this.#wills.set(clientId, will);
    const sql = 'INSERT OR REPLACE INTO will VALUES (?, ?, ?, ?, ?)';
    this.#journal.add(sql, clientId, will.topic, Buffer.from(will.payload), will.qos, will.retain ? 1 : 0);
  }

  remove(clientId: string): WillPacket | undefined {
    const will = this.#wills.get(clientId);
    if (!will) return undefined;
    this.#wills.delete(clientId);
    this.#journal.add('DELETE FROM will WHERE client_id = ?', clientId);
    return will;
  }
}
