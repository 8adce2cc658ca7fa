import { ALL, ANY, BELOW, type Matching } from './matching.ts';
import type { TopicLevels } from './topic-levels.ts';

/**
 * Topics that contain a text, upper and lower case being the same. The text may span levels: `b/c` is at the end of one level and at
 * the beginning of the next. Each name is looked at once, and then known by its number.
 */
export class SearchMatching implements Matching {
  readonly #levels: TopicLevels;
  readonly #text: string;
  readonly #parts: readonly string[];
  /** Per name the parts that it can be, as bits; 0: not looked at yet. */
  #fits = new Int32Array(0);
  /** Per depth, as bits: the parts up to this one are found, and end there. The last bit: all were found there or above. */
  readonly #found: number[] = [];

  constructor(levels: TopicLevels, text: string) {
    this.#levels = levels;
    this.#text = text.toLowerCase();
    this.#parts = this.#text.split('/');
  }

  renew(): void {
    const { end } = this.#levels.names;
    if (this.#fits.length < end) this.#fits = new Int32Array(end + 1_000);
    else this.#fits.fill(0);
  }

  enter(node: number, name: number, depth: number): number {
    if (this.#parts.length > MAX_PARTS) return this.#isInTopic(node) ? ALL : BELOW;
    let fits = this.#fits[name] as number;
    if (fits === 0) {
      fits = this.#look(name);
      this.#fits[name] = fits;
    }
    const above = depth === 0 ? 0 : (this.#found[depth - 1] as number);
    const whole = 1 << (this.#parts.length - 1);
    // What was found above is in all topics below.
    const found = (((above << 1) | 1) & fits) | (above & whole);
    this.#found[depth] = found;
    return found & whole ? ALL : BELOW;
  }

  only(): number {
    return ANY;
  }

  #look(name: number): number {
    const text = this.#levels.names.text(name).toLowerCase();
    const parts = this.#parts;
    const last = parts.length - 1;
    if (last === 0) return text.includes(this.#text) ? LOOKED_AT | 1 : LOOKED_AT;
    let fits = LOOKED_AT;
    if (text.endsWith(parts[0] as string)) fits |= 1;
    for (let part = 1; part < last; part += 1) if (text === parts[part]) fits |= 1 << part;
    if (text.startsWith(parts[last] as string)) fits |= 1 << last;
    return fits;
  }

  #isInTopic(node: number): boolean {
    return this.#levels.topicOf(node).toLowerCase().includes(this.#text);
  }
}

/** One bit is for LOOKED_AT. */
const MAX_PARTS = 30;
const LOOKED_AT = 1 << 30;
