import { LinkLimitExceeded } from './packet-limits.ts';
import type { ReadingTimeLimit } from './reading-time-limit.ts';

export interface ReadingLimits {
  readonly unfinished: UnfinishedPackets;
  /** `null`: no limit, as in worker threads. */
  readonly time: ReadingTimeLimit | null;
}

export const newReadingLimits = (time: ReadingTimeLimit | null = null): ReadingLimits => ({
  unfinished: new UnfinishedPackets(),
  time,
});

const MAX_BYTES = 64 * 1_048_576;

export interface PacketHolder {
  cut(reason: LinkLimitExceeded): void;
}

/** Memory budget for incomplete packets of all links. Beyond it the connection with the most bytes is closed. */
export class UnfinishedPackets {
  readonly #maxBytes: number;
  readonly #bytes = new Map<PacketHolder, number>();
  total = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  set(holder: PacketHolder, bytes: number): void {
    const known = this.#bytes.get(holder) ?? 0;
    if (bytes === known) return;
    this.total += bytes - known;
    if (bytes === 0) this.#bytes.delete(holder);
    else this.#bytes.set(holder, bytes);
    if (this.total > this.#maxBytes) this.#cutLargest();
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
