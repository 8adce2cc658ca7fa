import type { Journal } from './journal.ts';

/** What is read of a broker core's client. */
export interface ClientRef {
  readonly id: string;
  readonly clean?: boolean;
}

/** Somebody needs it before it is acknowledged. */
export interface AcknowledgementHold {
  /** Calls when nobody does any more, maybe at once. */
  whenFree(callback: () => void): void;
}

/** What is kept of a QoS 2 publish: nothing, or what aedes stored by itself. */
interface Incoming {
  /** Of its payload. */
  readonly bytes: number;
  readonly packet?: object;
  /** UNKNOWN: it was held by somebody in an earlier run of the broker. */
  held?: AcknowledgementHold | 'UNKNOWN' | null;
}

/** Those of one client. */
interface Incomings {
  readonly byPacketId: Map<number, Incoming>;
  bytes: number;
}

/**
 * Packet ids of QoS 2 publishes that came and wait for PUBREL: in memory, and in the journal except those of clean sessions. How
 * many one client may have, `PublishHandler` decides.
 */
export class IncomingStore {
  readonly #journal: Journal;
  readonly #clients = new Map<string, Incomings>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  load(): void {
    type Row = { client_id: string; packet_id: number; bytes: number; held: number };
    for (const { client_id, packet_id, bytes, held } of this.#journal.rows<Row>('SELECT * FROM incoming')) {
      this.#set(client_id, packet_id, held === 1 ? { bytes, held: 'UNKNOWN' } : { bytes });
    }
  }

  count(clientId: string): number {
    return this.#clients.get(clientId)?.byPacketId.size ?? 0;
  }

  /** Of the payloads of those that are counted. */
  bytes(clientId: string): number {
    return this.#clients.get(clientId)?.bytes ?? 0;
  }

  has(clientId: string, packetId: number): boolean {
    return this.get(clientId, packetId) !== undefined;
  }

  get(clientId: string, packetId: number): object | undefined {
    const incoming = this.#clients.get(clientId)?.byPacketId.get(packetId);
    return incoming?.packet ?? incoming;
  }

  /** In memory alone: what aedes stores by itself is in the journal already, or nobody's. */
  keep(clientId: string, packetId: number, packet: object, bytes: number): void {
    this.#set(clientId, packetId, { packet, bytes });
  }

  /**
   * A publish was taken in: only its packet id matters from then on. Returns whether the journal has something to commit.
   */
  take(client: ClientRef, packetId: number, bytes: number, held: AcknowledgementHold | null = null): boolean {
    this.#set(client.id, packetId, { bytes });
    if (held) this.setHold(client.id, packetId, held);
    if (client.clean !== false) return false;
    const sql = 'INSERT OR IGNORE INTO incoming (client_id, packet_id, bytes, held) VALUES (?, ?, ?, ?)';
    this.#journal.add(sql, client.id, packetId, bytes, held ? 1 : 0);
    return true;
  }

  /** Sent again it is acknowledged when nobody holds it any more. */
  setHold(clientId: string, packetId: number, held: AcknowledgementHold | null): void {
    const incoming = this.#clients.get(clientId)?.byPacketId.get(packetId);
    if (!incoming) return;
    incoming.held = held;
    held?.whenFree(() => {
      incoming.held = null;
    });
  }

  holdOf(clientId: string, packetId: number): AcknowledgementHold | 'UNKNOWN' | null {
    return this.#clients.get(clientId)?.byPacketId.get(packetId)?.held ?? null;
  }

  /** PUBREL came. False: no such packet id. */
  release(client: ClientRef, packetId: number): boolean {
    const incomings = this.#clients.get(client.id);
    const incoming = incomings?.byPacketId.get(packetId);
    if (!incomings || !incoming) return false;
    incomings.byPacketId.delete(packetId);
    incomings.bytes -= incoming.bytes;
    if (incomings.byPacketId.size === 0) this.#clients.delete(client.id);
    if (client.clean === false) {
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
