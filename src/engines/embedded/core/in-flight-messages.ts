/** The same as `onlineMessages`, the limit of a session whose client is connected. */
const MAX_MESSAGES = 20_000;

/** Number and bytes of the unacknowledged QoS 1 and 2 messages of a connection; at most the newest 20,000 count. */
export class InFlightMessages {
  readonly #sizes = new Map<number, number>();
  bytes = 0;

  get count(): number {
    return this.#sizes.size;
  }

  add(packetId: number, bytes: number): void {
    this.settle(packetId);
    if (this.#sizes.size >= MAX_MESSAGES) this.settle(this.#sizes.keys().next().value ?? packetId);
    this.#sizes.set(packetId, bytes);
    this.bytes += bytes;
  }

  settle(packetId: number): void {
    const bytes = this.#sizes.get(packetId);
    if (bytes === undefined) return;
    this.#sizes.delete(packetId);
    this.bytes -= bytes;
  }
}
