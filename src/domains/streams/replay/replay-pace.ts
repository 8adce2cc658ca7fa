import type { ReplaySpeed } from '../model/stream-replay.ts';

/**
 * When each message of a replay is due, by the distance from the first one, so that small delays do not add up. The first one is due at
 * once; backwards the gaps are mirrored.
 */
export class ReplayPace {
  /** Microseconds of the recording for each millisecond. */
  readonly #perMs: number;
  #startedAt = 0;
  #firstId: number | null = null;

  constructor(speed: ReplaySpeed) {
    this.#perMs = speed === 'fastest' ? Number.POSITIVE_INFINITY : speed * 1_000;
  }

  /** Milliseconds from `now` until the message is due; 0: it is. */
  wait(id: number, now: number): number {
    if (this.#firstId === null) {
      this.#firstId = id;
      this.#startedAt = now;
    }
    return Math.max(0, this.#startedAt + Math.abs(id - this.#firstId) / this.#perMs - now);
  }

  /** So many milliseconds passed that do not count. */
  shift(ms: number): void {
    this.#startedAt += ms;
  }
}
