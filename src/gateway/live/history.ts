/**
 * The newest items of a numbered sequence, each found by its number.
 *
 * Drop policy: the oldest go when there are more than `limit`, or when they weigh more than `maxWeight` together; the newest
 * stays whatever it weighs.
 */
export interface HistoryOptions<Item> {
  readonly limit: number;
  readonly maxWeight: number;
  /** Always the same for the same item. */
  weigh(item: Item): number;
}

export class History<Item> {
  readonly #options: HistoryOptions<Item>;
  /** By number, modulo `limit`. */
  readonly #items: (Item | undefined)[];
  #first: number;
  #last: number;
  #weight = 0;

  /** `last`: the number that the item before the first one would have had. */
  constructor(last: number, options: HistoryOptions<Item>) {
    this.#options = options;
    this.#items = [];
    this.#first = last + 1;
    this.#last = last;
  }

  get last(): number {
    return this.#last;
  }

  /** Of all that is kept. */
  get weight(): number {
    return this.#weight;
  }

  add(item: Item): void {
    const { limit, maxWeight } = this.#options;
    if (this.#last - this.#first + 1 >= limit) this.#drop();
    this.#last += 1;
    this.#items[this.#last % limit] = item;
    this.#weight += this.#options.weigh(item);
    while (this.#weight > maxWeight && this.#first < this.#last) this.#drop();
  }

  /** All goes; the next number is one that nobody was told as the last. */
  clear(): void {
    this.#items.length = 0;
    this.#weight = 0;
    this.#last += 1;
    this.#first = this.#last + 1;
  }

  /** Whether everything after this number is kept, so that who has got so far can go on from there. */
  reaches(number: number): boolean {
    return Number.isSafeInteger(number) && number >= this.#first - 1 && number <= this.#last;
  }

  /** Undefined: not kept. */
  at(number: number): Item | undefined {
    return number >= this.#first && number <= this.#last ? this.#items[number % this.#options.limit] : undefined;
  }

  #drop(): void {
    const index = this.#first % this.#options.limit;
    const item = this.#items[index];
    this.#items[index] = undefined;
    this.#first += 1;
    if (item !== undefined) this.#weight -= this.#options.weigh(item);
  }
}
