import { endOfNumber, withExactNumbers } from '../../../platform/text/exact-json.ts';
import { ExactNumber, type JsonNumber } from '../../../platform/text/exact-number.ts';
import { compilePath, parsePath, type ReadPath } from './json-path.ts';

/** Searching a longer text for keys costs more than parsing it once more. */
const MAX_SEARCHED = 16_384;

/**
 * A message as queries read it. JSON.parse rounds numbers, so the value of `root` is used where rounding makes no
 * difference, and the text of a number where it does.
 */
export class QueryMessage {
  readonly text: string;
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly root: unknown;
  #exactRoot: unknown;
  #hasUniqueKeys: boolean | null = null;

  /** Errors: SyntaxError. */
  constructor(text: string, topic: string, qos: 0 | 1 | 2) {
    this.text = text;
    this.topic = topic;
    this.qos = qos;
    this.root = JSON.parse(text);
  }

  /** The root with ExactNumbers. Errors: RangeError with a message that continues the name of a value. */
  get exactRoot(): unknown {
    this.#exactRoot ??= withExactNumbers(this.root, this.text);
    return this.#exactRoot;
  }

  /**
   * The number after a key, as it was sent. `key` ends with its quote. `null` if the text has the key more than once,
   * or may have it with escapes.
   */
  numberAfter(key: string): string | null {
    const { text } = this;
    this.#hasUniqueKeys ??= text.length <= MAX_SEARCHED && !text.includes('\\');
    if (!this.#hasUniqueKeys) return null;
    const found = text.indexOf(key);
    let at = found + key.length;
    if (found === -1 || text.includes(key, at)) return null;
    while (!isStart(text.charCodeAt(at))) at += 1;
    return text.slice(at, endOfNumber(text, at));
  }
}

/** A number may be preceded by a colon and blanks. */
const isStart = (unit: number): boolean => unit === 0x2d || (unit >= 0x30 && unit <= 0x39);

export interface Place {
  readonly read: ReadPath;
  /** The text of the number that `read` found, as it was sent. Errors: RangeError, as `exactRoot`. */
  readonly numberText: (message: QueryMessage) => string;
}

export function compilePlace(path: string): Place {
  const read = compilePath(path);
  // Without its first quote, because a search for a frequent character is slower.
  const key = JSON.stringify(parsePath(path)?.at(-1)).slice(1);
  return { read, numberText: (message) => message.numberAfter(key) ?? String(read(message.exactRoot)) };
}

/** The exact number that a place has, which JSON.parse read as `value`. */
export function exactNumber(value: number, place: Place | null, message: QueryMessage): JsonNumber {
  if (place === null) return value;
  const text = place.numberText(message);
  return String(value) === text ? value : new ExactNumber(text);
}
