import { MAX_ANSWER_CHARACTERS, type RecordedTopic } from '../model/topic-recorder.ts';

/** Remaining characters of one result, shared by all of its lists. */
export class AnswerRoom {
  left = MAX_ANSWER_CHARACTERS;
}

/**
 * A list of a result with two bounds: number of items, and characters. The item that reaches the bound of characters is
 * included.
 */
export class AnswerList<Item> {
  readonly items: Item[] = [];
  readonly #first: number;
  readonly #room: AnswerRoom;
  #leftOut = 0;

  constructor(first: number, room: AnswerRoom) {
    this.#first = first;
    this.#room = room;
  }

  /** Number of items that did not fit. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Appends an item. Returns false, without creating the item, if a bound is reached. */
  take(make: () => Item, charactersOf: (item: Item) => number): boolean {
    if (this.items.length >= this.#first || this.#room.left <= 0) {
      this.#leftOut += 1;
      return false;
    }
    const item = make();
    this.items.push(item);
    this.#room.left -= charactersOf(item);
    return true;
  }
}

/** Characters of the texts of a recorded topic. */
export const charactersOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);
