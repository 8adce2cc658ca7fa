/**
 * A number of a JSON text that JavaScript would write otherwise: `9007199254740993`, `21.20`, `1e400`, `-0`. It keeps
 * its text, which JSON.stringify writes unchanged. All other numbers are JavaScript numbers.
 */
export class ExactNumber {
  readonly #text: string;

  /** `text` is a number of JSON. */
  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  toJSON(): unknown {
    return rawJSON(this.#text);
  }
}

export type JsonNumber = number | ExactNumber;

/** Reads a number of JSON. */
export function jsonNumber(text: string): JsonNumber {
  const number = Number(text);
  return String(number) === text ? number : new ExactNumber(text);
}

/** The JavaScript number of the same value, such as 21.2 for `21.20`. `null` if there is none. */
export function sameNumber(number: ExactNumber): number | null {
  const rounded = Number(number);
  return Number.isFinite(rounded) && compareNumbers(rounded, number) === 0 ? rounded : null;
}

/** A number of JSON as text, for one that JavaScript numbers do not have. */
export interface WrittenNumber {
  readonly number: string;
}

/** Replaces the ExactNumbers of a JSON value, so that JSON.parse and JSON.stringify do not change it. */
export const withWrittenNumbers = (value: unknown): unknown =>
  replaceExactNumbers(value, (number): number | WrittenNumber => sameNumber(number) ?? { number: String(number) });

/** Replaces the ExactNumbers of a JSON value, by default with the JavaScript numbers that they are rounded to. */
export function replaceExactNumbers(value: unknown, replace: (number: ExactNumber) => unknown = Number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof ExactNumber) return replace(value);
  if (Array.isArray(value)) return value.map((item) => replaceExactNumbers(item, replace));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceExactNumbers(item, replace)]));
}

// TypeScript 7.0 does not declare it. All versions of Node that the service runs on have it.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * A finite decimal number, `0.digits × 10^point`. `digits` has no zero at either end; that of zero is empty. `point` is
 * infinite if the exponent has more than 15 digits.
 */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly point: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d*))?$/;
const MAX_EXPONENT_DIGITS = 15;

/** Work is linear in the length of the text, whatever its exponent. Errors: TypeError if it is no number of JSON. */
export function decimalOf(text: string): Decimal {
  const [, sign, whole = '', fraction = '', direction, exponent = ''] = NUMBER.exec(text) ?? [];
  if (sign === undefined) throw new TypeError('Not a number of JSON');
  const size = exponent.length > MAX_EXPONENT_DIGITS ? Number.POSITIVE_INFINITY : Number(exponent);
  const shift = direction === '-' ? -size : size;
  return normalized(sign === '-', whole + fraction, whole.length + shift);
}

/** `units × 10^-places`. */
export const decimalOfUnits = (units: bigint, places: number): Decimal => {
  const digits = String(units < 0n ? -units : units);
  return normalized(units < 0n, digits, digits.length - places);
};

function normalized(isNegative: boolean, digits: string, point: number): Decimal {
  // Regular expressions for zeros at the end need quadratic time.
  let start = 0;
  let end = digits.length;
  while (digits[start] === '0') start += 1;
  if (start === end) return { isNegative: false, digits: '', point: 0 };
  while (digits[end - 1] === '0') end -= 1;
  return { isNegative, digits: digits.slice(start, end), point: point - start };
}

/** Whether `compareNumbers` can order the number and another one with an exponent of more than 15 digits. */
export const isComparable = (number: JsonNumber): boolean =>
  typeof number === 'number' || Number.isFinite(decimalOf(String(number)).point);

/** Negative, zero or positive, as for sorting. One of the numbers must be comparable. */
export function compareNumbers(one: JsonNumber, other: JsonNumber): number {
  if (typeof one === 'number' && typeof other === 'number') return one < other ? -1 : Number(one > other);
  const [a, b] = [decimalOf(String(one)), decimalOf(String(other))];
  const [signA, signB] = [signOf(a), signOf(b)];
  if (signA !== signB || signA === 0) return signA - signB;
  if (a.point !== b.point) return a.point < b.point ? -signA : signA;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -signA : signA;
}

const signOf = ({ digits, isNegative }: Decimal): number => (digits === '' ? 0 : isNegative ? -1 : 1);

/** The number in the notation of JavaScript, with all its digits. `point` must be finite. */
export function numberOf({ isNegative, digits, point }: Decimal): JsonNumber {
  if (digits === '') return 0;
  return jsonNumber(`${isNegative ? '-' : ''}${unsigned(digits, point)}`);
}

/** Number.prototype.toString writes up to 21 digits before the point, and up to 6 zeros after it. */
function unsigned(digits: string, point: number): string {
  if (point > 0 && point <= 21) {
    const whole = digits.slice(0, point).padEnd(point, '0');
    return digits.length > point ? `${whole}.${digits.slice(point)}` : whole;
  }
  if (point > -6 && point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  const exponent = point - 1;
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`;
}
