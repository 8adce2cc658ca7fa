import { NONE } from './rows.ts';

/**
 * A direct-mapped cache of recently used topics. It finds a use without comparing the levels. A topic replaces the
 * previous one in its slot. The cache is cleared beyond 256 Ki characters.
 */
export class RecentTopics {
  readonly #topics: (string | null)[] = new Array(PLACES).fill(null);
  readonly #uses = new Int32Array(PLACES).fill(NONE);
  #characters = 0;

  get bytes(): number {
    return PLACES * 12 + this.#characters * 2;
  }

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

  /** Must be called before a use is deleted. */
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
/** Approximate overhead of a string, in characters. */
const STRING = 12;
export const MAX_RECENT_BYTES = PLACES * 12 + (MAX_CHARACTERS + MAX_LENGTH + STRING) * 2;
