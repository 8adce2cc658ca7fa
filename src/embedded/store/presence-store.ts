import type { Journal } from './journal.ts';
import { fromText, type MessageProperties, toText } from './message-properties.ts';

/** One connection of one client, somewhere in the cluster. */
export interface Presence {
  readonly clientId: string;
  /** The node, and which of its runs. */
  readonly nodeId: number;
  readonly run: string;
  /** Another one for each connection of the run. */
  readonly number: number;
  /** Its session ends with the connection, and only its node knows its subscriptions. */
  readonly isClean: boolean;
  /** Seconds that the session outlives the connection, unless it says otherwise when it goes; null: without end. */
  readonly expirySeconds: number | null;
  readonly will: PresentWill | null;
}

export interface PresentWill {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: MessageProperties | undefined;
  readonly delaySeconds: number;
}

/** Who is connected to which node of a cluster, in memory over the journal. */
export class PresenceStore {
  readonly #journal: Journal;
  readonly #presences = new Map<string, Presence>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    type Row = { client_id: string; node_id: number; run: string; number: number; about: string; will_payload: Buffer };
    for (const row of this.#journal.rows<Row>('SELECT * FROM presence')) {
      const { client_id: clientId, node_id: nodeId, run, number } = row;
      // Written by `put`.
      const { isClean, expirySeconds, will } = JSON.parse(row.about);
      const payload = row.will_payload;
      const kept = will && { ...will, properties: fromText(will.properties), payload };
      this.#presences.set(clientId, { clientId, nodeId, run, number, isClean, expirySeconds, will: kept });
    }
  }

  get(clientId: string): Presence | undefined {
    return this.#presences.get(clientId);
  }

  all(): IterableIterator<Presence> {
    return this.#presences.values();
  }

  /** Takes the place of the connection that the client had. */
  put(presence: Presence): void {
    const { clientId, nodeId, run, number, isClean, expirySeconds, will } = presence;
    this.#presences.set(clientId, presence);
    const { payload = null, ...rest } = will ?? {};
    const about = JSON.stringify({
      isClean,
      expirySeconds,
      will: will && { ...rest, properties: toText(will.properties) },
    });
    const sql =
      'INSERT OR REPLACE INTO presence (client_id, node_id, run, number, about, will_payload) VALUES (?, ?, ?, ?, ?, ?)';
    this.#journal.add(sql, clientId, nodeId, run, number, about, payload);
  }

  delete(clientId: string): void {
    if (!this.#presences.delete(clientId)) return;
    this.#journal.add('DELETE FROM presence WHERE client_id = ?', clientId);
  }
}
