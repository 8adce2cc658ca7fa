import type { RetainedPacket } from '../store/retained-rows.ts';

/** Minimum size of a payload that is shared and counted. Smaller ones are bounded by the size of a slice per client. */
const LARGE_BYTES = 16_384;

interface Unsent {
  readonly packet: RetainedPacket;
  clients: number;
}

/**
 * Large retained messages that were read from disk and are being sent. Each is in memory once for all clients, and
 * above the limit no further message is read: its client waits until sockets have taken others.
 */
export class UnsentRetained {
  readonly #limit: number;
  /** By the sequence number of the retained message. */
  readonly #messages = new Map<number, Unsent>();
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get hasRoom(): boolean {
    return this.#bytes < this.#limit;
  }

  /**
   * The message to send, whose sequence number is added to `taken` if it is large. `null` if it has to wait: there is
   * no room, or it is not the client's turn.
   */
  take(taken: number[], packet: RetainedPacket, sequence: number, isTurn: boolean): RetainedPacket | null {
    const { length } = packet.payload;
    if (length < LARGE_BYTES) return packet;
    let unsent = this.#messages.get(sequence);
    if (!unsent) {
      if (!isTurn || !this.hasRoom) return null;
      unsent = { packet, clients: 0 };
      this.#messages.set(sequence, unsent);
      this.#bytes += length;
    }
    unsent.clients += 1;
    taken.push(sequence);
    return unsent.packet;
  }

  /** Called when the socket of a client has taken the messages. */
  release(taken: number[]): void {
    for (const sequence of taken.splice(0)) {
      const unsent = this.#messages.get(sequence);
      if (!unsent) continue;
      unsent.clients -= 1;
      if (unsent.clients > 0) continue;
      this.#messages.delete(sequence);
      this.#bytes -= unsent.packet.payload.length;
    }
  }
}
