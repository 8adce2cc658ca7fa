import { ExactNumber } from './exact-number.ts';
import { isWithinBounds } from './json-bounds.ts';

/**
 * JSON.parse, with an ExactNumber for each number that JavaScript would write otherwise. If a key repeats, the last
 * value counts.
 * Errors: SyntaxError; RangeError if there are such numbers and the text has more levels than the stack has room for.
 */
export const parseExactJson = (text: string): unknown => withExactNumbers(JSON.parse(text), text);

/** The same for the body of a request. Errors: also RangeError if it has more than 50,000 values and such a number. */
export const parseExactBody = (text: string): unknown => withExactNumbers(JSON.parse(text), text, MAX_BODY_VALUES);

/** The same for a value that JSON.parse has read from `text`. */
export function withExactNumbers(value: unknown, text: string, maxValues = Number.POSITIVE_INFINITY): unknown {
  if (!hasExactNumber(text)) return value;
  if (maxValues < text.length && !isWithinBounds(Buffer.from(text), maxValues, maxValues)) {
    throw new RangeError(
      `has more than ${maxValues} values, and numbers that JavaScript would round or write otherwise`,
    );
  }
  try {
    return parse(text, exact);
  } catch (cause) {
    throw new RangeError('is nested too deeply', { cause });
  }
}

type Revive = (key: string, value: unknown, context: { readonly source: string }) => unknown;

/** A reviver makes parsing seven to thirty times slower. These values take 50 ms, and other requests wait. */
const MAX_BODY_VALUES = 50_000;

// TypeScript 7.0 does not declare the third parameter.
const { parse } = JSON as unknown as { parse(text: string, revive: Revive): unknown };

const exact: Revive = (_key, value, { source }) =>
  typeof value === 'number' && String(value) !== source ? new ExactNumber(source) : value;

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

/** Whether valid JSON has a number that JavaScript would write otherwise. */
function hasExactNumber(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at + 1);
    else if (unit === MINUS || (unit >= ZERO && unit <= NINE)) {
      const end = endOfNumber(text, at);
      if (mayBeExact(text, at, end)) {
        const token = text.slice(at, end);
        if (String(Number(token)) !== token) return true;
      }
      at = end - 1;
    }
  }
  return false;
}

function endOfString(text: string, from: number): number {
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

function mayBeExact(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  if (end - first >= MANY) return true;
  if (text.charCodeAt(first) === ZERO && (end === first + 1 ? first > start : text.startsWith(TINY, first)))
    return true;
  let hasPoint = false;
  for (let at = first; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > NINE) return true;
    if (unit === POINT) hasPoint = true;
  }
  return hasPoint && text.charCodeAt(end - 1) === ZERO;
}
