import { NONE } from './rows.ts';

/**
 * The uses of topics that were used lately, by the hash of the topic: most messages are of a topic that was used a moment ago, which
 * is found here without looking at its levels.
 *
 * Drop policy: a topic takes the place of the one that had it. None of more than 128 characters is kept, and all go when they have
 * 256 Ki together.
 */
export class RecentTopics {
  readonly #topics: (string | null)[] = new Array(PLACES).fill(null);
  readonly #uses = new Int32Array(PLACES).fill(NONE);
  #characters = 0;

  get bytes(): number {
    return PLACES * 12 + this.#characters * 2;
  }

  /** NONE: it is not here. */
  find(topic: string, hash: number): number {
    const place = hash & MASK;
    return this.#topics[place] === topic ? (this.#uses[place] as number) : NONE;
  }

  set(topic: string, hash: number, use: number): void {
    if (topic.length > MAX_LENGTH) return;
    if (this.#characters > MAX_CHARACTERS) this.clear();
    const place = hash & MASK;
    this.#characters += topic.length + STRING - this.#charactersAt(place);
    this.#topics[place] = topic;
    this.#uses[place] = use;
  }

  /** To be told of each use before it goes. */
  remove(hash: number, use: number): void {
    const place = hash & MASK;
    if (this.#uses[place] !== use) return;
    this.#characters -= this.#charactersAt(place);
    this.#topics[place] = null;
    this.#uses[place] = NONE;
  }

  clear(): void {
    this.#topics.fill(null);
    this.#uses.fill(NONE);
    this.#characters = 0;
  }

  #charactersAt(place: number): number {
    const topic = this.#topics[place];
    return topic === null || topic === undefined ? 0 : topic.length + STRING;
  }
}

const PLACES = 8_192;
const MASK = PLACES - 1;
const MAX_LENGTH = 128;
const MAX_CHARACTERS = 256 * 1024;
/** What a string takes beside its characters, in characters. */
const STRING = 12;
/** That they take at most. */
export const MAX_RECENT_BYTES = PLACES * 12 + (MAX_CHARACTERS + MAX_LENGTH + STRING) * 2;
