import { MAX_RESPONSE_CHARACTERS, type RecordedTopic } from '../model/topic-recorder.ts';

/** A list of a result. The item that reaches the bound of characters is included. */
export class BoundedList<Item> {
  readonly items: Item[] = [];
  readonly #first: number;
  readonly #budget: { left: number };
  leftOut = 0;

  /** `budget`: remaining characters of the result, if it has several lists. */
  constructor(first: number, budget = { left: MAX_RESPONSE_CHARACTERS }) {
    this.#first = first;
    this.#budget = budget;
  }

  /** Appends an item. Returns false, without creating the item, if a bound is reached. */
  take(make: () => Item, charactersOf: (item: Item) => number): boolean {
    if (this.items.length >= this.#first || this.#budget.left <= 0) {
      this.leftOut += 1;
      return false;
    }
    const item = make();
    this.items.push(item);
    this.#budget.left -= charactersOf(item);
    return true;
  }
}

export const charactersOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);
