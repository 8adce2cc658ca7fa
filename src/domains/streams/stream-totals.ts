import type { StreamEntry } from './control/stream-wire.ts';
import type { StreamCounters, StreamState } from './model/stream-report.ts';

/** Names of the counters. */
export const COUNTED = ['received', 'published', 'stored', 'filtered', 'failed', 'notStored', 'replayed'] as const;
export type Counted = (typeof COUNTED)[number];

/** Totals of all streams of one broker. */
export interface StreamTotals {
  /** Messages since this process first read each stream. Never decreases, even when streams are deleted. */
  readonly counted: Readonly<Record<Counted, number>>;
  /** Number of existing streams by state. */
  readonly states: ReadonlyMap<StreamState, number>;
  /** Bytes on disk. */
  readonly storedBytes: number;
}

/** Adds up the counters of a broker's streams between two readings. */
export class StreamSums {
  #totals: StreamTotals = { counted: countsBy(() => 0), states: new Map(), storedBytes: 0 };
  #last: ReadonlyMap<string, StreamCounters> = new Map();

  get totals(): StreamTotals {
    return this.#totals;
  }

  /** Adds a reading of all streams of the broker. */
  take(entries: readonly StreamEntry[]): void {
    const before = this.#last;
    const now = new Map<string, StreamCounters>();
    const states = new Map<StreamState, number>();
    const more = countsBy(() => 0);
    let storedBytes = 0;
    for (const { definition, report } of entries) {
      if (report === null) continue;
      const { counters, state, storage } = report;
      const last = before.get(definition.name);
      for (const name of COUNTED) {
        // After a restart, or for another stream of this name, the whole count is new.
        more[name] += Math.max(0, counters[name] - (last?.since === counters.since ? last[name] : 0));
      }
      now.set(definition.name, counters);
      states.set(state, (states.get(state) ?? 0) + 1);
      storedBytes += storage.bytes;
    }
    this.#last = now;
    const { counted } = this.#totals;
    this.#totals = { counted: countsBy((name) => counted[name] + more[name]), states, storedBytes };
  }
}

const countsBy = (count: (name: Counted) => number): Record<Counted, number> =>
  Object.fromEntries(COUNTED.map((name) => [name, count(name)])) as Record<Counted, number>;
