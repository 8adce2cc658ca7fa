import { ExactNumber, sameNumber } from '../../../platform/text/exact-number.ts';
import { MAX_WRITTEN_LEVELS, TOO_DEEP_TO_WRITE } from '../../../platform/text/json-depth.ts';
import type { StepMeter } from './step-meter.ts';

/** The whole numbers of `int` in the language: 64 bits. */
const MAX_INT = 2n ** 63n - 1n;
const INTEGER = /^-?\d{1,19}$/;

/** The list or object of the payload that a value was read from. */
const SOURCE = Symbol('source');

/**
 * A JSON value as an expression reads it. Whole numbers that `double` would round are of type `int`. Other numbers that
 * it would round are ExactNumbers: type `exact`. Lists and objects refer to the numbers that they were read from.
 */
export function readValue(exact: unknown): unknown {
  if (typeof exact !== 'object' || exact === null) return exact;
  if (exact instanceof ExactNumber) return readNumber(exact);
  const value: object = Array.isArray(exact)
    ? exact.map(readValue)
    : Object.fromEntries(Object.entries(exact).map(([key, entry]) => [key, readValue(entry)]));
  return Object.defineProperty(value, SOURCE, { value: exact });
}

function readNumber(number: ExactNumber): unknown {
  const same = sameNumber(number);
  if (same !== null) return same;
  const text = String(number);
  if (!INTEGER.test(text)) return number;
  const integer = BigInt(text);
  return integer <= MAX_INT && integer >= -MAX_INT ? integer : number;
}

/**
 * The result of an expression as JSON text; a text itself. Errors: RangeError with a message that continues "the
 * output"; TooManySteps.
 */
export function writeValue(value: unknown, meter: StepMeter): string {
  return typeof value === 'string' ? value : JSON.stringify(jsonOf(value, meter, MAX_WRITTEN_LEVELS, undefined));
}

/** `source`: what the value was read from, with the digits that were sent. */
function jsonOf(value: unknown, meter: StepMeter, levels: number, source: unknown): unknown {
  meter.spendOn(value);
  switch (typeof value) {
    case 'bigint':
      return new ExactNumber(String(value));
    case 'number':
      if (source instanceof ExactNumber) return source;
      if (!Number.isFinite(value)) throw new RangeError(`has the number ${value}, which JSON does not have`);
      return value;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null || value instanceof ExactNumber) return value;
  if (value instanceof Date) return value.toISOString();
  if (levels === 0) throw new RangeError(TOO_DEEP_TO_WRITE);
  const sources = (value as Sourced)[SOURCE];
  const written = (entry: unknown, key: string | number) => jsonOf(entry, meter, levels - 1, sources?.[key]);
  if (Array.isArray(value)) return value.map(written);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new RangeError(NO_JSON);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, written(entry, key)]));
}

interface Sourced {
  readonly [SOURCE]?: Readonly<Record<string | number, unknown>>;
}

const NO_JSON = 'has a value of a type that JSON does not have, such as bytes, a duration or a type';
