import { decimalOf, decimalOfUnits, type JsonNumber, numberOf } from '../../../platform/text/exact-number.ts';
import type { Place, QueryMessage } from './query-message.ts';

/** Digits before and after the point that fit into a JavaScript number each. */
const HALF = 15;
const ONE = 10 ** HALF;
const LOW = 10 ** 8;
const POWERS = Array.from({ length: HALF + 1 }, (_, exponent) => 10 ** exponent);
/** Maximum number of digits, and of places before and after the point. */
const MAX_PLACES = 1_000;

/**
 * An aggregate with the exact decimal sum: `whole + parts × 10^-15` as long as it fits, because arithmetic with bigints
 * takes ten times as long.
 */
export class Sum {
  #sum: Halves | Units = ZERO;
  #next: Halves | Units = ZERO;

  get value(): JsonNumber {
    return numberOf(decimalOf(this.text));
  }

  get text(): string {
    return 'units' in this.#sum
      ? String(numberOf(decimalOfUnits(this.#sum.units, this.#sum.places)))
      : textOf(this.#sum);
  }

  weigh(value: unknown, place: Place | null, message: QueryMessage): string | null {
    if (typeof value !== 'number') return 'is not a number';
    const text = place === null ? `${value}` : place.numberText(message);
    const next = ('units' in this.#sum ? null : withShort(this.#sum, text)) ?? withLong(unitsOf(this.#sum), text);
    if (next === null) return `has more than ${MAX_PLACES} digits, or an exponent beyond ${MAX_PLACES}`;
    this.#next = next;
    return null;
  }

  take(): void {
    this.#sum = this.#next;
  }

  clear(): void {
    this.#sum = ZERO;
  }
}

/** Both are safe integers. Their signs may differ. */
interface Halves {
  readonly whole: number;
  readonly parts: number;
}

/** `units × 10^-places`. */
interface Units {
  readonly units: bigint;
  readonly places: number;
}

const MINUS = 0x2d;
const ZERO_DIGIT = 0x30;

const ZERO: Halves = { whole: 0, parts: 0 };

/** `null` if a number is too long for halves, or has an exponent. */
function withShort(sum: Halves, text: string): Halves | null {
  const isNegative = text.charCodeAt(0) === MINUS;
  let whole = 0;
  let parts = 0;
  let places = -1;
  // Faster than Number for two parts of the text.
  for (let at = Number(isNegative); at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO_DIGIT;
    if (places >= HALF || digit > 9) return null;
    if (digit < 0) places = 0;
    else if (places === -1) whole = whole * 10 + digit;
    else {
      parts = parts * 10 + digit;
      places += 1;
    }
  }
  if (whole >= ONE) return null;
  if (places > 0) parts *= POWERS[HALF - places] ?? 1;
  whole = isNegative ? sum.whole - whole : sum.whole + whole;
  parts = isNegative ? sum.parts - parts : sum.parts + parts;
  if (Math.abs(parts) >= ONE) {
    whole += Math.sign(parts);
    parts -= Math.sign(parts) * ONE;
  }
  return Number.isSafeInteger(whole) ? { whole, parts } : null;
}

function withLong(sum: Units, text: string): Units | null {
  const { isNegative, digits, point } = decimalOf(text);
  if (digits.length > MAX_PLACES || Math.abs(point) > MAX_PLACES) return null;
  const places = digits.length - point;
  const common = Math.max(places, sum.places);
  const added = scaled(BigInt(digits), common - places);
  return { units: scaled(sum.units, common - sum.places) + (isNegative ? -added : added), places: common };
}

const unitsOf = (sum: Halves | Units): Units =>
  'units' in sum ? sum : { units: BigInt(sum.whole) * BigInt(ONE) + BigInt(sum.parts), places: HALF };

const scaled = (units: bigint, places: number): bigint => units * 10n ** BigInt(places);

function textOf({ whole, parts }: Halves): string {
  if (parts === 0) return `${whole}`;
  const isNegative = whole === 0 ? parts < 0 : whole < 0;
  // The parts of a sum with two signs are taken from its whole number.
  const borrowed = whole !== 0 && parts < 0 !== isNegative;
  const units = `${Math.abs(whole) - Number(borrowed)}`;
  const rest = borrowed ? ONE - Math.abs(parts) : Math.abs(parts);
  // Small integers are converted ten times as fast. The digit before each part keeps its zeros.
  const low = rest % LOW;
  const high = `${(rest - low) / LOW + LOW / 10}`;
  const digits = low === 0 ? high : `${high}${`${low + LOW}`.slice(1)}`;
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return `${isNegative ? '-' : ''}${units}.${digits.slice(1, end)}`;
}
