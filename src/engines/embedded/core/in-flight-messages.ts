/** The same as `onlineMessages`, the limit of a session whose client is connected. */
const MAX_MESSAGES = 20_000;

/**
 * Number and payload bytes of the unacknowledged QoS 1 and 2 messages of one connection, by packet id. The messages
 * themselves are not stored. If the client acknowledges nothing, only the newest 20,000 are counted.
 */
export class InFlightMessages {
  readonly #sizes = new Map<number, number>();
  #bytes = 0;

  get count(): number {
    return this.#sizes.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A packet id that is used again identifies the later message. */
  add(packetId: number, bytes: number): void {
    this.settle(packetId);
    if (this.#sizes.size >= MAX_MESSAGES) this.settle(this.#sizes.keys().next().value ?? packetId);
    this.#sizes.set(packetId, bytes);
    this.#bytes += bytes;
  }

  /** The client has acknowledged or refused the message. */
  settle(packetId: number): void {
    const bytes = this.#sizes.get(packetId);
    if (bytes === undefined) return;
    this.#sizes.delete(packetId);
    this.#bytes -= bytes;
  }
}
