import { ExactNumber, replaceExactNumbers, sameNumber } from '../../../platform/text/exact-number.ts';
import { MAX_WRITTEN_LEVELS, TOO_DEEP_TO_WRITE } from '../../../platform/text/json-depth.ts';
import type { StepMeter } from './step-meter.ts';

/** The whole numbers of `int` in the language: 64 bits. */
const MAX_INT = 2n ** 63n - 1n;
const INTEGER = /^-?\d{1,19}$/;

/**
 * A JSON value as an expression reads it. Whole numbers that `double` would round are of type `int`, so that they keep
 * their digits; other numbers are rounded to `double`.
 */
export const readValue = (exactRoot: unknown): unknown => replaceExactNumbers(exactRoot, readNumber);

function readNumber(number: ExactNumber): unknown {
  const same = sameNumber(number);
  if (same !== null) return same;
  const text = String(number);
  if (!INTEGER.test(text)) return Number(text);
  const integer = BigInt(text);
  return integer <= MAX_INT && integer >= -MAX_INT ? integer : Number(text);
}

/**
 * The result of an expression as JSON text; a text itself. Errors: RangeError with a message that continues "the
 * output"; TooManySteps.
 */
export function writeValue(value: unknown, meter: StepMeter): string {
  return typeof value === 'string' ? value : JSON.stringify(jsonOf(value, meter, MAX_WRITTEN_LEVELS));
}

function jsonOf(value: unknown, meter: StepMeter, levels: number): unknown {
  meter.spendOn(value);
  switch (typeof value) {
    case 'bigint':
      return new ExactNumber(String(value));
    case 'number':
      if (!Number.isFinite(value)) throw new RangeError(`has the number ${value}, which JSON does not have`);
      return value;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (levels === 0) throw new RangeError(TOO_DEEP_TO_WRITE);
  if (Array.isArray(value)) return value.map((entry) => jsonOf(entry, meter, levels - 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new RangeError(NO_JSON);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, jsonOf(entry, meter, levels - 1)]));
}

const NO_JSON = 'has a value of a type that JSON does not have, such as bytes, a duration or a type';
