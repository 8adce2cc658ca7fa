import { LinkLimitExceeded } from './packet-limits.ts';

/** Bytes of packets that have not come whole, over all links that share the budget. Default of `maxBytes`. */
const MAX_BYTES = 64 * 1_048_576;

export interface PacketHolder {
  /** Ends the connection that the bytes belong to. */
  cut(reason: LinkLimitExceeded): void;
}

/**
 * One budget for incoming packets that are not complete. Beyond it the connection with the most unfinished bytes is cut; its link
 * reports the reason and reconnects with backoff.
 */
export class UnfinishedPackets {
  readonly #maxBytes: number;
  readonly #bytes = new Map<PacketHolder, number>();
  #total = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get total(): number {
    return this.#total;
  }

  /** Replaces what is known of a connection; 0 removes it. */
  set(holder: PacketHolder, bytes: number): void {
    const known = this.#bytes.get(holder) ?? 0;
    if (bytes === known) return;
    this.#total += bytes - known;
    if (bytes === 0) this.#bytes.delete(holder);
    else this.#bytes.set(holder, bytes);
    if (this.#total > this.#maxBytes) this.#cutLargest();
  }

  #cutLargest(): void {
    const [holder, bytes] = [...this.#bytes].reduce((one, other) => (other[1] > one[1] ? other : one));
    this.set(holder, 0);
    holder.cut(
      new LinkLimitExceeded(
        `The broker left a packet of ${bytes} bytes or more unfinished while all links together had more than ${this.#maxBytes} bytes of unfinished packets`,
      ),
    );
  }
}
