interface HistoryOptions<Item> {
  readonly limit: number;
  readonly maxWeight: number;
  weigh(item: Item): number;
}

/** Ring buffer of the newest items of a numbered sequence. The oldest are dropped beyond `limit` or `maxWeight`. */
export class History<Item> {
  readonly #options: HistoryOptions<Item>;
  readonly #items: (Item | undefined)[];
  #first: number;
  last: number;
  weight = 0;

  constructor(last: number, options: HistoryOptions<Item>) {
    this.#options = options;
    this.#items = [];
    this.#first = last + 1;
    this.last = last;
  }

  add(item: Item): void {
    const { limit, maxWeight } = this.#options;
    if (this.last - this.#first + 1 >= limit) this.#drop();
    this.last += 1;
    this.#items[this.last % limit] = item;
    this.weight += this.#options.weigh(item);
    while (this.weight > maxWeight && this.#first < this.last) this.#drop();
  }

  /** Drops all items and skips one number, so that no reader can resume from a number before. */
  clear(): void {
    this.#items.length = 0;
    this.weight = 0;
    this.last += 1;
    this.#first = this.last + 1;
  }

  /** Whether all items after this number are stored, so that a reader can resume from it. */
  reaches(number: number): boolean {
    return Number.isSafeInteger(number) && number >= this.#first - 1 && number <= this.last;
  }

  at(number: number): Item | undefined {
    return number >= this.#first && number <= this.last ? this.#items[number % this.#options.limit] : undefined;
  }

  #drop(): void {
    const index = this.#first % this.#options.limit;
    const item = this.#items[index];
    this.#items[index] = undefined;
    this.#first += 1;
    if (item !== undefined) this.weight -= this.#options.weigh(item);
  }
}
