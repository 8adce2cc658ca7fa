import { MAX_ANSWER_CHARACTERS, type RecordedTopic } from '../model/topic-recorder.ts';

/** Characters that one answer has room for, however many lists it consists of. */
export class AnswerRoom {
  left = MAX_ANSWER_CHARACTERS;
}

/** A list of an answer, with its two bounds: the item that reaches the one of characters is in it. */
export class AnswerList<Item> {
  readonly items: Item[] = [];
  readonly #first: number;
  readonly #room: AnswerRoom;
  #leftOut = 0;

  constructor(first: number, room: AnswerRoom) {
    this.#first = first;
    this.#room = room;
  }

  /** Items for which there was no room. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** False: there is no room, and the item was not made. */
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

/** Of what an answer has for it beside numbers. */
export const charactersOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);
