/** Ids that wait to be sorted in: clients may connect with a new one each time, without a call of `all`. */
const MAX_CHANGED = 10_000;

/** Client ids in the order of their UTF-16 code units. After changes, `all` makes a new list by binary search. */
export class SortedIds {
  readonly #exists: (id: string) => boolean;
  readonly #changed = new Set<string>();
  #ids: readonly string[] = [];

  constructor(exists: (id: string) => boolean) {
    this.#exists = exists;
  }

  changed(id: string): void {
    this.#changed.add(id);
    if (this.#changed.size >= MAX_CHANGED) this.all();
  }

  all(): readonly string[] {
    const changed = [...this.#changed].filter((id) => this.#exists(id) !== this.#has(id));
    this.#changed.clear();
    if (changed.length > 0) this.#ids = merged(this.#ids, changed.sort());
    return this.#ids;
  }

  #has(id: string): boolean {
    return this.#ids[indexOf(this.#ids, id, 0)] === id;
  }
}

/** Removes the `changed` ids that are in `ids`, and adds those that are not. */
function merged(ids: readonly string[], changed: readonly string[]): readonly string[] {
  const result: string[] = [];
  let from = 0;
  for (const id of changed) {
    const index = indexOf(ids, id, from);
    for (; from < index; from += 1) result.push(ids[from] as string);
    if (ids[from] === id) from += 1;
    else result.push(id);
  }
  for (; from < ids.length; from += 1) result.push(ids[from] as string);
  return result;
}

/** Index of the first id from `from` on that is not less than `id`. */
function indexOf(ids: readonly string[], id: string, from: number): number {
  let low = from;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
