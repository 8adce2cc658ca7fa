/**
 * The names with the largest totals, in bounded memory: the summary of Misra and Gries, which has the bound of
 * Space-Saving and can be merged. Of twice `size` names the smaller half is dropped at once, and the largest dropped
 * count is subtracted from the others.
 *
 * The true total of a name is at least its count and at most `maxError` more; `maxError` is at most `total / size`.
 */
export class TopSketch {
  readonly #size: number;
  readonly #counts = new Map<string, number>();
  total = 0;
  maxError = 0;

  constructor(size: number) {
    this.#size = size;
  }

  add(name: string, count: number): void {
    if (count <= 0) return;
    this.total += count;
    this.#raise(name, count);
  }

  merge(other: TopSketch): void {
    this.total += other.total;
    this.maxError += other.maxError;
    for (const [name, count] of other.#counts) this.#raise(name, count);
  }

  /** The largest first. */
  top(count: number): { readonly name: string; readonly count: number }[] {
    const entries = Array.from(this.#counts, ([name, total]) => ({ name, count: total }));
    return entries.sort((a, b) => b.count - a.count).slice(0, count);
  }

  #raise(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
    if (this.#counts.size > 2 * this.#size) this.#prune();
  }

  #prune(): void {
    const sorted = [...this.#counts.values()].sort((a, b) => b - a);
    const subtracted = sorted[this.#size] ?? 0;
    this.maxError += subtracted;
    for (const [name, count] of this.#counts) {
      if (count <= subtracted) this.#counts.delete(name);
      else this.#counts.set(name, count - subtracted);
    }
  }
}
