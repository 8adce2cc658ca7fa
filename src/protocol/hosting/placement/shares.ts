import { createHash } from 'node:crypto';

/** A process that may run what is stored for brokers. */
export interface Member {
  readonly id: string;
  /** Its share of the brokers, relative to those of others; 0: none. */
  readonly share: number;
}

const LEAST_SHARE = 0.1;
const BUSY = 1.25;
const IDLE = 0.8;
/** A few brokers more are no load, and differ by chance. */
const TOLERANCE = 10;

/**
 * The process that runs what is stored for a broker: each process decides equally, without asking another. When a
 * process joins, leaves or changes its share, only brokers that it gets or loses move (weighted rendezvous hashing).
 * `null` if no process has a share.
 */
export function ownerOf(brokerId: string, members: readonly Member[]): string | null {
  let owner: string | null = null;
  let most = 0;
  for (const { id, share } of members) {
    if (share <= 0) continue;
    const score = share / -Math.log(uniform(`${id} ${brokerId}`));
    if (score < most || (score === most && owner !== null && id > owner)) continue;
    owner = id;
    most = score;
  }
  return owner;
}

/** The share of one process by the loads of all: one that has more than others gives a few of its brokers away. */
export class Share {
  #value = 1;
  /** How the loads at the last look would have changed the share: -1, 0 or 1. */
  #trend = 0;

  get value(): number {
    return this.#value;
  }

  /**
   * Changes the share if two looks in a row agree: what other processes wrote last may be from before brokers were
   * added or moved, and brokers do not move for a moment.
   */
  adjust(load: number, others: readonly number[]): void {
    const average = others.reduce((sum, other) => sum + other, load) / (others.length + 1);
    const next = nextShare(this.#value, load, average);
    const trend = Math.sign(next - this.#value);
    if (trend === this.#trend) this.#value = next;
    this.#trend = trend;
  }
}

function nextShare(share: number, load: number, average: number): number {
  if (load > average * BUSY && load > average + TOLERANCE) return Math.max(LEAST_SHARE, share * 0.9);
  if (load < average * IDLE) return Math.min(1, share * 1.1);
  return share;
}

/** Between 0 and 1, both excluded. */
function uniform(text: string): number {
  return (createHash('sha256').update(text).digest().readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
