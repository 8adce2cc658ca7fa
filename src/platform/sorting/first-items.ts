/** The first `size` items in order, of any number of items. Stores at most twice as many. */
export class FirstItems<Item> {
  readonly #size: number;
  readonly #compare: (a: Item, b: Item) => number;
  #items: Item[] = [];
  /** Items behind it are not among the first. */
  #end: Item | undefined;

  /** `size` is at least 1. */
  constructor(size: number, compare: (a: Item, b: Item) => number) {
    this.#size = size;
    this.#compare = compare;
  }

  add(item: Item): void {
    if (this.#end !== undefined && this.#compare(item, this.#end) > 0) return;
    this.#items.push(item);
    if (this.#items.length >= this.#size * 2) this.#cut();
  }

  sorted(): readonly Item[] {
    this.#cut();
    return this.#items;
  }

  #cut(): void {
    this.#items = this.#items.sort(this.#compare).slice(0, this.#size);
    if (this.#items.length === this.#size) this.#end = this.#items.at(-1);
  }
}
