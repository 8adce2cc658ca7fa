import { includesText, isLongPart } from '../../../platform/text/text-search.ts';
import { NONE } from './rows.ts';
import type { TopicLevels } from './topic-levels.ts';

/** Bits that state which topics of a subtree match: none, the node's own topic, possibly some below, or all. */
const NOTHING = 0;
export const ITSELF = 1;
export const BELOW = 2;
export const ALL = 4 | BELOW | ITSELF;

export const ANY = -2;

/** A condition on topics that is evaluated level by level, so that the levels above many topics are evaluated once. */
export interface Matching {
  /** Called after names may have been renumbered. */
  renew(): void;
  /**
   * Returns the match bits of a node, whose ancestors must have been entered before. `depth` is 0 on the first level.
   */
  enter(node: number, name: number, depth: number): number;
  /** The only name that can match at a depth. ANY if several can match, NONE if none can. */
  only(depth: number): number;
}

/** Topics that match a topic filter (MQTT 3.1.1, section 4.7). */
export class FilterMatching implements Matching {
  readonly #levels: TopicLevels;
  readonly #filter: readonly string[];
  /** For each level of the filter: the number of its name, ANY for `+`, or NONE if no listed topic has the name. */
  #names: readonly number[] = [];

  constructor(levels: TopicLevels, filter: string) {
    this.#levels = levels;
    this.#filter = filter.split('/');
  }

  renew(): void {
    const { names } = this.#levels;
    this.#names = this.#filter.map((level) => (level === '+' ? ANY : names.find(level, 0, level.length)));
  }

  enter(_node: number, name: number, depth: number): number {
    const filter = this.#filter;
    // [MQTT-4.7.2-1]: a wildcard at the first level does not match topics that begin with `$`.
    if (depth === 0 && (filter[0] === '+' || filter[0] === '#') && this.#levels.names.text(name).startsWith('$')) {
      return NOTHING;
    }
    const last = filter.length - 1;
    if (depth >= last && filter[last] === '#') return ALL;
    const only = this.only(depth);
    if (only !== ANY && only !== name) return NOTHING;
    if (depth === last) return ITSELF;
    return depth === last - 1 && filter[last] === '#' ? ALL : BELOW;
  }

  only(depth: number): number {
    const last = this.#filter.length - 1;
    return depth >= last && this.#filter[last] === '#' ? ANY : (this.#names[depth] ?? NONE);
  }
}

/**
 * Topics that contain a text, ignoring case. The text may span levels: `b/c` matches the end of one level and the
 * beginning of the next.
 */
export class SearchMatching implements Matching {
  readonly #levels: TopicLevels;
  readonly #text: string;
  readonly #parts: readonly string[];
  /** The text in bytes, for names with one byte per unit. `null` if the text spans levels, or is long. */
  readonly #folded: FoldedText | null;
  /** For each name, a bit mask of the parts that it matches. 0: not compared yet. */
  #fits = new Uint8Array(0);
  /** The value of `names.reuses` for which `#fits` is valid. */
  #reuses = -1;
  /** For each depth: bit n is set if the parts 0 to n match the levels that end there. Last bit: all parts matched. */
  readonly #found: number[] = [];

  constructor(levels: TopicLevels, text: string) {
    this.#levels = levels;
    this.#text = text.toLowerCase();
    this.#parts = this.#text.split('/');
    this.#folded = this.#parts.length === 1 && !isLongPart(this.#text) ? new FoldedText(this.#text) : null;
  }

  renew(): void {
    const { end, reuses } = this.#levels.names;
    if (this.#fits.length < end) {
      const fits = new Uint8Array(end + (end >>> 2) + 1_000);
      fits.set(this.#fits);
      this.#fits = fits;
    }
    if (reuses !== this.#reuses) this.#fits.fill(0);
    this.#reuses = reuses;
  }

  enter(node: number, name: number, depth: number): number {
    if (this.#parts.length > MAX_PARTS) {
      return includesText(this.#levels.topicOf(node).toLowerCase(), this.#text) ? ALL : BELOW;
    }
    let fits = this.#fits[name] as number;
    if (fits === 0) {
      fits = this.#partsIn(name);
      this.#fits[name] = fits;
    }
    const above = depth === 0 ? 0 : (this.#found[depth - 1] as number);
    const whole = 1 << (this.#parts.length - 1);
    const found = (((above << 1) | 1) & fits) | (above & whole);
    this.#found[depth] = found;
    return found & whole ? ALL : BELOW;
  }

  only(): number {
    return ANY;
  }

  #partsIn(name: number): number {
    const { names } = this.#levels;
    if (this.#folded && !names.isWide(name)) {
      const length = names.unpack(name);
      return this.#folded.isIn(names.unpacked, length) ? COMPARED | 1 : COMPARED;
    }
    const text = names.text(name).toLowerCase();
    const parts = this.#parts;
    const last = parts.length - 1;
    if (last === 0) return includesText(text, this.#text) ? COMPARED | 1 : COMPARED;
    let fits = COMPARED;
    if (text.endsWith(parts[0] as string)) fits |= 1;
    for (let part = 1; part < last; part += 1) if (text === parts[part]) fits |= 1 << part;
    if (text.startsWith(parts[last] as string)) fits |= 1 << last;
    return fits;
  }
}

/** One bit is reserved for COMPARED. If the text has more parts, whole topics are compared. */
const MAX_PARTS = 7;
const COMPARED = 1 << 7;

class FoldedText {
  readonly #units: readonly number[];

  constructor(text: string) {
    this.#units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  }

  isIn(bytes: Uint8Array, length: number): boolean {
    const units = this.#units;
    const first = units[0];
    for (let from = 0, end = length - units.length; from <= end; from += 1) {
      if (LOWER[bytes[from] as number] !== first) continue;
      let at = 1;
      while (at < units.length && LOWER[bytes[from + at] as number] === units[at]) at += 1;
      if (at >= units.length) return true;
    }
    return units.length === 0;
  }
}

/** Lower case of each byte. In Latin-1, the lower case of a byte is also one byte. */
const LOWER = Uint8Array.from({ length: 256 }, (_, unit) => String.fromCharCode(unit).toLowerCase().charCodeAt(0));
