import type { Journal } from './journal.ts';

export interface ClientRef {
  readonly id: string;
  /** Whether the session ends with the connection. Default: true. */
  readonly isClean?: boolean;
}

/** Delays the acknowledgement of a publish until streams have processed it. */
export interface AcknowledgementHold {
  /** Calls `callback` when the publish may be acknowledged, possibly immediately. */
  whenFree(callback: () => void): void;
}

interface Incoming {
  readonly bytes: number;
  /** UNKNOWN: a stream held the publish in an earlier run of the broker. */
  hold?: AcknowledgementHold | 'UNKNOWN' | null;
}

interface Incomings {
  readonly byPacketId: Map<number, Incoming>;
  bytes: number;
}

/** Packet ids of QoS 2 publishes that wait for PUBREL: in memory, and for persistent sessions in the journal. */
export class IncomingStore {
  readonly #journal: Journal;
  readonly #clients = new Map<string, Incomings>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    type Row = { client_id: string; packet_id: number; bytes: number; held: number };
    for (const { client_id, packet_id, bytes, held } of this.#journal.rows<Row>('SELECT * FROM incoming')) {
      this.#set(client_id, packet_id, held === 1 ? { bytes, hold: 'UNKNOWN' } : { bytes });
    }
  }

  count(clientId: string): number {
    return this.#clients.get(clientId)?.byPacketId.size ?? 0;
  }

  bytes(clientId: string): number {
    return this.#clients.get(clientId)?.bytes ?? 0;
  }

  has(clientId: string, packetId: number): boolean {
    return this.#clients.get(clientId)?.byPacketId.has(packetId) ?? false;
  }

  /** Remembers, in memory only, the packet id of a publish of which nothing is stored. */
  remember(clientId: string, packetId: number, bytes: number): void {
    this.#set(clientId, packetId, { bytes });
  }

  /** Stores the packet id of an accepted publish. Returns whether there is something to commit. */
  take(client: ClientRef, packetId: number, bytes: number, hold: AcknowledgementHold | null = null): boolean {
    this.#set(client.id, packetId, { bytes });
    if (hold) this.setHold(client.id, packetId, hold);
    if (client.isClean !== false) return false;
    const sql = 'INSERT OR IGNORE INTO incoming (client_id, packet_id, bytes, held) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, client.id, packetId, bytes, hold ? 1 : 0);
    return true;
  }

  setHold(clientId: string, packetId: number, hold: AcknowledgementHold | null): void {
    const incoming = this.#clients.get(clientId)?.byPacketId.get(packetId);
    if (!incoming) return;
    incoming.hold = hold;
    hold?.whenFree(() => {
      incoming.hold = null;
    });
  }

  holdOf(clientId: string, packetId: number): AcknowledgementHold | 'UNKNOWN' | null {
    return this.#clients.get(clientId)?.byPacketId.get(packetId)?.hold ?? null;
  }

  /** Releases the packet id after PUBREL. Returns `false` if it does not exist. */
  release(client: ClientRef, packetId: number): boolean {
    const incomings = this.#clients.get(client.id);
    const incoming = incomings?.byPacketId.get(packetId);
    if (!incomings || !incoming) return false;
    incomings.byPacketId.delete(packetId);
    incomings.bytes -= incoming.bytes;
    if (incomings.byPacketId.size === 0) this.#clients.delete(client.id);
    if (client.isClean === false) {
      this.#journal.add('DELETE FROM incoming WHERE client_id = ? AND packet_id = ?', client.id, packetId);
    }
    return true;
  }

  clear(clientId: string): void {
    if (!this.#clients.delete(clientId)) return;
    this.#journal.add('DELETE FROM incoming WHERE client_id = ?', clientId);
  }

  #set(clientId: string, packetId: number, incoming: Incoming): void {
    let incomings = this.#clients.get(clientId);
    if (!incomings) {
      incomings = { byPacketId: new Map(), bytes: 0 };
      this.#clients.set(clientId, incomings);
    }
    incomings.bytes += incoming.bytes - (incomings.byPacketId.get(packetId)?.bytes ?? 0);
    incomings.byPacketId.set(packetId, incoming);
  }
}
