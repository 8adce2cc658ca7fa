import type { HistoryGap, HistoryGapReason } from '../model/history-module.ts';
import type { ModuleBatch } from '../store/history-core.ts';

interface Waiting {
  readonly module: string;
  readonly arrival: unknown;
  readonly at: number;
  readonly bytes: number;
}

/** So that a full queue drops many at once. */
const FULL_SHARE = 0.9;
const MAX_GAPS = 100;

/**
 * What waits to be written, oldest first. Bound: `maxBytes`; beyond it the oldest tenth is dropped, and a gap of its
 * module says how many arrivals of which time are lost.
 */
export class HistoryQueue {
  readonly #maxBytes: number;
  #waiting: Waiting[] = [];
  #bytes = 0;
  readonly #gaps = new Map<string, HistoryGap[]>();
  /** Arrivals that were dropped since the start. */
  dropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** `reason`: why there may be no room. */
  add(waiting: Waiting, reason: HistoryGapReason): void {
    this.#waiting.push(waiting);
    this.#bytes += waiting.bytes;
    if (this.#bytes > this.#maxBytes) this.#drop(reason);
  }

  /** Removes the oldest arrivals and all gaps. Returns `null` if there is neither. */
  take(count: number): HistoryBatch | null {
    if (this.#waiting.length === 0 && this.#gaps.size === 0) return null;
    const taken = this.#waiting.splice(0, count);
    for (const { bytes } of taken) this.#bytes -= bytes;
    const gaps = new Map(this.#gaps);
    this.#gaps.clear();
    return { taken, gaps };
  }

  /** A batch that was not written. */
  putBack({ taken, gaps }: HistoryBatch, reason: HistoryGapReason): void {
    this.#waiting = [...taken, ...this.#waiting];
    for (const { bytes } of taken) this.#bytes += bytes;
    for (const [module, before] of gaps) {
      this.#gaps.set(module, joined([...before, ...(this.#gaps.get(module) ?? [])]));
    }
    if (this.#bytes > this.#maxBytes) this.#drop(reason);
  }

  /**
   * A batch whose values the database refuses. Several arrivals come again, and a single one is lost. Gaps come again
   * with it.
   */
  refused({ taken, gaps }: HistoryBatch): void {
    const [first, ...others] = taken;
    if (first !== undefined && others.length === 0) this.lose(first.module, first.at);
    this.putBack({ taken: others.length === 0 ? [] : taken, gaps: first === undefined ? NO_GAPS : gaps }, 'REFUSED');
  }

  /** An arrival that the database cannot store. */
  lose(module: string, at: number): void {
    this.dropped += 1;
    this.#gaps.set(module, withLost(this.#gaps.get(module) ?? [], at, 'REFUSED'));
  }

  #drop(reason: HistoryGapReason): void {
    let count = 0;
    while (this.#bytes > this.#maxBytes * FULL_SHARE && count < this.#waiting.length) {
      this.#bytes -= this.#waiting[count]?.bytes ?? 0;
      count += 1;
    }
    this.dropped += count;
    for (const { module, at } of this.#waiting.splice(0, count)) {
      const gaps = this.#gaps.get(module) ?? [];
      this.#gaps.set(module, withLost(gaps, at, reason));
    }
  }
}

interface HistoryBatch {
  readonly taken: readonly Waiting[];
  readonly gaps: ReadonlyMap<string, readonly HistoryGap[]>;
}

const NO_GAPS: HistoryBatch['gaps'] = new Map();

export function byModule({ taken, gaps }: HistoryBatch): ModuleBatch[] {
  const arrived = new Map<string, unknown[]>([...gaps.keys()].map((module) => [module, []]));
  for (const { module, arrival } of taken) {
    const list = arrived.get(module);
    if (list === undefined) arrived.set(module, [arrival]);
    else list.push(arrival);
  }
  return Array.from(arrived, ([module, list]) => ({ module, arrived: list, gaps: gaps.get(module) ?? [] }));
}

/** `gaps` with one more arrival that is lost. */
function withLost(gaps: readonly HistoryGap[], at: number, reason: HistoryGapReason): HistoryGap[] {
  const last = gaps.at(-1);
  if (last?.reason !== reason) return joined([...gaps, { from: at, to: at, lost: 1, reason }]);
  const { from, to, lost } = last;
  return gaps.with(-1, { from: Math.min(from, at), to: Math.max(to, at), lost: lost + 1, reason });
}

/** At most MAX_GAPS, of which the first two become one. */
function joined(gaps: HistoryGap[]): HistoryGap[] {
  const [first, second] = gaps;
  if (gaps.length <= MAX_GAPS || first === undefined || second === undefined) return gaps;
  return [{ ...second, from: first.from, lost: first.lost + second.lost }, ...gaps.slice(2)];
}
