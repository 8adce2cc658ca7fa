/** Beyond twice as many items, so that small numbers are not sorted with each item. */
const SPARE = 100;

/** The first `count` items in order, of any number of items. Sorts and stores about twice as many at once. */
export class FirstItems<Item extends Key, Key = Item> {
  readonly #count: number;
  readonly #compare: (a: Key, b: Key) => number;
  readonly #items: Item[] = [];
  #last: Item | undefined;

  constructor(count: number, compare: (a: Key, b: Key) => number) {
    this.#count = count;
    this.#compare = compare;
  }

  /** Whether an item with this key may be among the first. */
  accepts(key: Key): boolean {
    return this.#last === undefined || this.#compare(key, this.#last) < 0;
  }

  add(item: Item): void {
    if (!this.accepts(item)) return;
    this.#items.push(item);
    if (this.#items.length < 2 * this.#count + SPARE) return;
    this.#items.sort(this.#compare).length = this.#count;
    this.#last = this.#items.at(-1);
  }

  sorted(): Item[] {
    return this.#items.sort(this.#compare).slice(0, this.#count);
  }
}
