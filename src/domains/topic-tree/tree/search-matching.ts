import { ALL, ANY, BELOW, type Matching } from './matching.ts';
import type { TopicLevels } from './topic-levels.ts';

/**
 * Topics that contain a text, ignoring case. The text may span levels: `b/c` matches the end of one level and the
 * beginning of the next.
 */
export class SearchMatching implements Matching {
  readonly #levels: TopicLevels;
  readonly #text: string;
  readonly #parts: readonly string[];
  /** The text in bytes, for names with one byte per unit. `null` if the text spans levels. */
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
    this.#folded = this.#parts.length === 1 ? new FoldedText(this.#text) : null;
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
    if (this.#parts.length > MAX_PARTS) return this.#isInTopic(node) ? ALL : BELOW;
    let fits = this.#fits[name] as number;
    if (fits === 0) {
      fits = this.#look(name);
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

  #look(name: number): number {
    const { names } = this.#levels;
    if (this.#folded && !names.isWide(name)) {
      const length = names.unpack(name);
      return this.#folded.isIn(names.unpacked, length) ? LOOKED_AT | 1 : LOOKED_AT;
    }
    const text = names.text(name).toLowerCase();
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

/** One bit is reserved for LOOKED_AT. If the text has more parts, whole topics are compared. */
const MAX_PARTS = 7;
const LOOKED_AT = 1 << 7;

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
