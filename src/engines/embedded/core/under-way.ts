/** As many as a session keeps for a connected client. */
const MAX_MESSAGES = 20_000;

/**
 * Messages of QoS 1 and 2 that were sent on one connection and are not acknowledged, by packet id: how many, and bytes of their
 * payload; nothing of the messages themselves. Where a client acknowledges nothing, those beyond 20,000 push out the oldest.
 */
export class UnderWay {
  readonly #sizes = new Map<number, number>();
  #bytes = 0;

  get count(): number {
    return this.#sizes.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A packet id that is used again stands for the later message. */
  add(packetId: number, bytes: number): void {
    this.settle(packetId);
    if (this.#sizes.size >= MAX_MESSAGES) this.settle(this.#sizes.keys().next().value ?? packetId);
    this.#sizes.set(packetId, bytes);
    this.#bytes += bytes;
  }

  /** The client is done with it. */
  settle(packetId: number): void {
    const bytes = this.#sizes.get(packetId);
    if (bytes === undefined) return;
    this.#sizes.delete(packetId);
    this.#bytes -= bytes;
  }
}
