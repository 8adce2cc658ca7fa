import { compareNumbers, isComparable, type JsonNumber } from '../../../platform/text/exact-number.ts';
import type { SelectFunction } from '../model/stream-query.ts';
import { exactNumber, type Place, type QueryMessage } from './query-message.ts';
import { Sum } from './sum.ts';

type AggregateFunction = Exclude<SelectFunction, 'time_bucket'>;

/** All values are checked with `weigh` first, so that a message changes all aggregates or none. */
export interface Aggregate {
  /**
   * Checks a value that JSON.parse has read at `place`. Returns what is wrong with it, or `null` if `take` can add it.
   * Errors: those of `place`.
   */
  weigh(value: unknown, place: Place | null, message: QueryMessage): string | null;
  take(): void;
  /** Defined after the first `take`. */
  readonly value: JsonNumber;
  /** `value` as JSON. */
  readonly text: string;
  clear(): void;
}

export function createAggregate(name: AggregateFunction): Aggregate {
  switch (name) {
    case 'count':
      return new Count();
    case 'sum':
      return new Sum();
    case 'min':
      return new Extreme(-1);
    case 'max':
      return new Extreme(1);
  }
}

class Count implements Aggregate {
  value = 0;

  get text(): string {
    return `${this.value}`;
  }

  weigh(): string | null {
    return null;
  }

  take(): void {
    this.value += 1;
  }

  clear(): void {
    this.value = 0;
  }
}

class Extreme implements Aggregate {
  readonly #sign: -1 | 1;
  /** `null` before the first value. */
  #value: JsonNumber | null = null;
  #next: JsonNumber | null = null;
  #rounded = Number.NaN;

  constructor(sign: -1 | 1) {
    this.#sign = sign;
  }

  get value(): JsonNumber {
    return this.#value ?? 0;
  }

  get text(): string {
    return String(this.value);
  }

  weigh(value: unknown, place: Place | null, message: QueryMessage): string | null {
    if (typeof value !== 'number') return 'is not a number';
    this.#next = this.#value;
    // Rounding keeps the order of numbers.
    if ((value - this.#rounded) * this.#sign < 0) return null;
    const next = exactNumber(value, place, message);
    if (!isComparable(next)) return 'has an exponent of more than 15 digits';
    if (this.#value === null || compareNumbers(next, this.#value) * this.#sign > 0) this.#next = next;
    return null;
  }

  take(): void {
    if (this.#next === this.#value) return;
    this.#value = this.#next;
    this.#rounded = Number(this.#next);
  }

  clear(): void {
    this.#value = null;
    this.#rounded = Number.NaN;
  }
}
