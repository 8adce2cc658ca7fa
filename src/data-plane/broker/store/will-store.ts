import type { LiveMessage } from '../delivery/sent-messages.ts';
import type { Journal } from './journal.ts';
import { fromText, toText } from './message-properties.ts';

/** The will of a connected client. */
export interface WillPacket extends LiveMessage {
  /** MQTT 5: Will Delay Interval, at most the Session Expiry Interval. */
  readonly delaySeconds: number;
}

export interface DelayedWill extends LiveMessage {
  /** Epoch milliseconds. */
  readonly due: number;
}

/** The wills of connected clients, and delayed wills of disconnected ones, in memory and in the journal. */
export class WillStore {
  readonly #journal: Journal;
  readonly #wills = new Map<string, WillPacket>();
  readonly #delayed = new Map<string, DelayedWill>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    type Columns = { clientId: string; retain: number; properties: string | null; time: number };
    type Row = Pick<DelayedWill, 'topic' | 'payload' | 'qos'> & Columns;
    const rows = (time: string, table: string) =>
      this.#journal
        .rows<Row>(
          `SELECT client_id AS clientId, topic, payload, qos, retain, properties, ${time} AS time FROM ${table}`,
        )
        .map((row) => ({ ...row, retain: row.retain === 1, properties: fromText(row.properties) }));
    for (const { clientId, time: delaySeconds, ...will } of rows('delay_seconds', 'will')) {
      this.#wills.set(clientId, { ...will, delaySeconds });
    }
    for (const { clientId, time: due, ...will } of rows('due', 'delayed_will')) {
      this.#delayed.set(clientId, { ...will, due });
    }
  }

  all(): [clientId: string, will: WillPacket][] {
    return [...this.#wills];
  }

  put(clientId: string, will: WillPacket): void {
    this.#wills.set(clientId, will);
    const sql = `INSERT OR REPLACE INTO will (client_id, topic, payload, qos, retain, properties, delay_seconds)
      VALUES (?, ?, ?, ?, ?, ?, ?)`;
    const { topic, payload, qos, retain, properties, delaySeconds } = will;
    const text = toText(properties);
    const payloadBytes = Buffer.from(payload);
    this.#journal.addLatest(
      keyOf(clientId),
      sql,
      clientId,
      topic,
      payloadBytes,
      qos,
      retain ? 1 : 0,
      text,
      delaySeconds,
    );
  }

  remove(clientId: string): void {
    if (!this.#wills.delete(clientId)) return;
    this.#journal.addLatest(keyOf(clientId), 'DELETE FROM will WHERE client_id = ?', clientId);
  }

  delayed(): ReadonlyMap<string, DelayedWill> {
    return this.#delayed;
  }

  delay(clientId: string, will: DelayedWill): void {
    this.remove(clientId);
    this.#delayed.set(clientId, will);
    const { topic, payload, qos, retain, properties, due } = will;
    const sql = 'INSERT OR REPLACE INTO delayed_will VALUES (?, ?, ?, ?, ?, ?, ?)';
    this.#journal.add(sql, clientId, topic, Buffer.from(payload), qos, retain ? 1 : 0, toText(properties), due);
  }

  takeDelayed(clientId: string): DelayedWill | undefined {
    const will = this.#delayed.get(clientId);
    if (!will) return undefined;
    this.#delayed.delete(clientId);
    this.#journal.add('DELETE FROM delayed_will WHERE client_id = ?', clientId);
    return will;
  }
}

const keyOf = (clientId: string): string => `will ${clientId}`;
