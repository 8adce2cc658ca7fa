import { LinkLimitExceeded } from './packet-limits.ts';

/** Default of `maxBytes`. */
const MAX_BYTES = 64 * 1_048_576;

export interface PacketHolder {
  /** Closes the connection. */
  cut(reason: LinkLimitExceeded): void;
}

/**
 * Memory budget for the incomplete incoming packets of all links. Beyond `maxBytes` the connection with the most bytes
 * is closed; its link reports the reason and reconnects with backoff.
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

  /** Sets the bytes of a connection; 0 removes it. */
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
        `The incomplete packets of all links exceeded ${this.#maxBytes} bytes; this link had the most with ${bytes} bytes`,
      ),
    );
  }
}
