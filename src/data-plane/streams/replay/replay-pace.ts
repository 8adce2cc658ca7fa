import type { ReplaySpeed } from '../model/stream-replay.ts';

/**
 * Schedules the messages of a replay relative to the first one, so that small delays do not add up. The first message
 * is due immediately. In reverse replays the gaps are mirrored.
 */
export class ReplayPace {
  /** Microseconds of the recording per millisecond of the replay. */
  readonly #perMs: number;
  #startedAt = 0;
  #firstId: number | null = null;

  constructor(speed: ReplaySpeed) {
    this.#perMs = speed === 'fastest' ? Number.POSITIVE_INFINITY : speed * 1_000;
  }

  /** Returns the milliseconds from `now` until the message is due; 0 if it is due. */
  wait(id: number, now: number): number {
    if (this.#firstId === null) {
      this.#firstId = id;
      this.#startedAt = now;
    }
    return Math.max(0, this.#startedAt + Math.abs(id - this.#firstId) / this.#perMs - now);
  }

  /** Excludes a pause of `ms` milliseconds from the schedule. */
  shift(ms: number): void {
    this.#startedAt += ms;
  }
}
