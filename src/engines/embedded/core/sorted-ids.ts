/**
 * Client ids in the order of their code units. What changed is sorted in when the list is asked for: a copy of the list, and a
 * binary search for each changed id, however large the list is and however many changes came before.
 */
export class SortedIds {
  readonly #exists: (id: string) => boolean;
  readonly #changed = new Set<string>();
  #ids: readonly string[] = [];

  /** `exists` decides whether an id that changed is in the list now. */
  constructor(exists: (id: string) => boolean) {
    this.#exists = exists;
  }

  changed(id: string): void {
    this.#changed.add(id);
  }

  /** Later changes leave this list as it is. */
  all(): readonly string[] {
    const changed = [...this.#changed].filter((id) => this.#exists(id) !== this.#has(id));
    this.#changed.clear();
    if (changed.length > 0) this.#ids = merged(this.#ids, changed.sort());
    return this.#ids;
  }

  #has(id: string): boolean {
    return this.#ids[placeOf(this.#ids, id, 0)] === id;
  }
}

/** `ids` without those of `changed` that it has, and with those that it has not. */
function merged(ids: readonly string[], changed: readonly string[]): readonly string[] {
  const result: string[] = [];
  let from = 0;
  for (const id of changed) {
    const place = placeOf(ids, id, from);
    for (; from < place; from += 1) result.push(ids[from] as string);
    if (ids[from] === id) from += 1;
    else result.push(id);
  }
  for (; from < ids.length; from += 1) result.push(ids[from] as string);
  return result;
}

/** Of the first id from `from` on that is not before `id`. */
function placeOf(ids: readonly string[], id: string, from: number): number {
  let low = from;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
