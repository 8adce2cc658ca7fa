import { randomBytes } from 'node:crypto';
import { ExactNumber } from './exact-number.ts';

/**
 * JSON.parse, with an ExactNumber for each number that JavaScript would write otherwise. If a key repeats, the last
 * value counts.
 * Errors: SyntaxError; RangeError if there are more than 100,000 such numbers, or if they have more than 2,000,000
 * characters.
 */
export const parseExactJson = (text: string): unknown => withExactNumbers(JSON.parse(text), text);

/** The same for a value that JSON.parse has read from `text`. The message of a RangeError continues a name. */
export function withExactNumbers(value: unknown, text: string): unknown {
  const marked = markExactNumbers(text);
  return marked === null ? value : restored(JSON.parse(marked));
}

/** A text is read while others wait: these take 0.06 s. */
const MAX_EXACT = 100_000;
/** Of all such numbers. JavaScript reads and writes each several times. */
const MAX_EXACT_CHARACTERS = 2_000_000;
const TOO_MANY = `has more than ${MAX_EXACT} numbers that JavaScript would round or write otherwise`;
const TOO_LONG = `has more than ${MAX_EXACT_CHARACTERS} characters in numbers that JavaScript would round or write otherwise`;
/**
 * Exact numbers are parsed as strings that begin with it, because a reviver makes parsing ten times slower. No text
 * that arrives can contain it.
 */
const MARK = randomBytes(9).toString('base64');

/** Writes the exact numbers of valid JSON as strings that begin with MARK. Returns `null` if there are none. */
function markExactNumbers(text: string): string | null {
  let marked = '';
  let written = 0;
  let [count, characters] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at + 1);
    else if (unit === MINUS || (unit >= ZERO && unit <= NINE)) {
      const end = endOfNumber(text, at);
      if (end - at > MAX_EXACT_CHARACTERS) throw new RangeError(TOO_LONG);
      if (isExact(text, at, end)) {
        count += 1;
        characters += end - at;
        if (count > MAX_EXACT) throw new RangeError(TOO_MANY);
        if (characters > MAX_EXACT_CHARACTERS) throw new RangeError(TOO_LONG);
        marked += `${text.slice(written, at)}"${MARK}${text.slice(at, end)}"`;
        written = end;
      }
      at = end - 1;
    }
  }
  return written === 0 ? null : marked + text.slice(written);
}

/** Replaces the marked strings of a value by ExactNumbers, in place. The value may have any depth. */
function restored(root: unknown): unknown {
  const parents: object[] = [];
  /** Keeps a parent for later. */
  const restore = (value: unknown): unknown => {
    if (typeof value === 'string') return value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value;
    if (typeof value === 'object' && value !== null) parents.push(value);
    return value;
  };
  const whole = restore(root);
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    if (Array.isArray(parent)) for (let at = 0; at < parent.length; at += 1) parent[at] = restore(parent[at]);
    else restoreFields(parent as Record<string, unknown>, restore);
  }
  return whole;
}

function restoreFields(fields: Record<string, unknown>, restore: (value: unknown) => unknown): void {
  for (const key in fields) {
    const value = fields[key];
    const restored = restore(value);
    if (restored !== value) fields[key] = restored;
  }
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
/** JavaScript writes a number with fewer characters as it is, if it has no exponent, no final zero, and is not TINY. */
const MANY = 16;
/** From here on JavaScript writes an exponent. */
const TINY = '0.000000';

/** The closing quote of the string whose first character is at `from`. */
export function endOfString(text: string, from: number): number {
  const quote = text.indexOf('"', from);
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  // One search for each escaped quote would take three times as long as JSON.parse.
  let at = from;
  for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) at += unit === BACKSLASH ? 2 : 1;
  return at;
}

/** The end of the number that begins at `from`. */
export function endOfNumber(text: string, from: number): number {
  let at = from;
  while (isOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

/** Digits, `+`, `-`, `.`, `e` and `E`; false for NaN. */
const isOfNumber = (unit: number): boolean =>
  (unit >= ZERO && unit <= NINE) || unit === POINT || unit === MINUS || unit === 0x2b || (unit | 0x20) === 0x65;

/** Whether JavaScript would write a number otherwise. */
function isExact(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  const isZero = text.charCodeAt(first) === ZERO;
  if (isZero && end === first + 1) return first > start;
  let hasPoint = false;
  let isUnclear = end - first >= MANY || (isZero && text.startsWith(TINY, first));
  for (let at = first; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > NINE) isUnclear = true;
    else if (unit === POINT) hasPoint = true;
  }
  if (!isUnclear) return hasPoint && text.charCodeAt(end - 1) === ZERO;
  const token = text.slice(start, end);
  return String(Number(token)) !== token;
}
