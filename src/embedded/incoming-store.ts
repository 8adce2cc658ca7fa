import type { Journal } from './journal.ts';

/** What is read of a broker core's client. */
export interface ClientRef {
  readonly id: string;
  readonly clean?: boolean;
}

/**
 * Packet ids of QoS 2 publishes that came and wait for PUBREL: in memory, and in the journal except those of clean sessions. How
 * many one client may have, `PublishIntake` decides.
 */
export class IncomingStore {
  readonly #journal: Journal;
  readonly #packets = new Map<string, Map<number, object>>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    const rows = this.#journal.rows<{ client_id: string; packet_id: number }>('SELECT * FROM incoming');
    for (const { client_id, packet_id } of rows) this.set(client_id, packet_id, TAKEN_IN);
  }

  count(clientId: string): number {
    return this.#packets.get(clientId)?.size ?? 0;
  }

  has(clientId: string, packetId: number): boolean {
    return this.get(clientId, packetId) !== undefined;
  }

  get(clientId: string, packetId: number): object | undefined {
    return this.#packets.get(clientId)?.get(packetId);
  }

  /** In memory alone: what aedes stores by itself is in the journal already, or nobody's. */
  set(clientId: string, packetId: number, packet: object): void {
    let packets = this.#packets.get(clientId);
    if (!packets) {
      packets = new Map();
      this.#packets.set(clientId, packets);
    }
    packets.set(packetId, packet);
  }

  /** A publish was taken in. Says whether the journal has something to commit. */
  take(client: ClientRef, packetId: number): boolean {
    this.set(client.id, packetId, TAKEN_IN);
    if (client.clean !== false) return false;
    this.#journal.add('INSERT OR IGNORE INTO incoming VALUES (?, ?)', client.id, packetId);
    return true;
  }

  /** PUBREL came. False: no such packet id. */
  release(client: ClientRef, packetId: number): boolean {
    const packets = this.#packets.get(client.id);
    if (!packets?.delete(packetId)) return false;
    if (packets.size === 0) this.#packets.delete(client.id);
    if (client.clean === false) {
      this.#journal.add('DELETE FROM incoming WHERE client_id = ? AND packet_id = ?', client.id, packetId);
    }
    return true;
  }

  clear(clientId: string): void {
    if (!this.#packets.delete(clientId)) return;
    this.#journal.add('DELETE FROM incoming WHERE client_id = ?', clientId);
  }
}

/** Stands for a QoS 2 publish that was taken in: only its packet id matters from then on. */
const TAKEN_IN: object = Object.freeze({});
