import type { SelectFunction } from '../model/stream-query.ts';

type AggregateFunction = Exclude<SelectFunction, 'time_bucket'>;

/** All values are checked with `weigh` first, so that a message changes all aggregates or none. */
export interface Aggregate {
  /** Checks a value. Returns what is wrong with it, or `null` if `take` can add it. */
  weigh(value: unknown): string | null;
  take(): void;
  /** Defined after the first `take`. */
  readonly value: number;
  clear(): void;
}

export function createAggregate(name: AggregateFunction): Aggregate {
  switch (name) {
    case 'count':
      return new Count();
    case 'sum':
      return new Sum();
    case 'min':
      return new Extreme(Math.min, Number.POSITIVE_INFINITY);
    case 'max':
      return new Extreme(Math.max, Number.NEGATIVE_INFINITY);
  }
}

class Count implements Aggregate {
  value = 0;

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
  readonly #choose: (a: number, b: number) => number;
  readonly #none: number;
  #weighed: number;
  value: number;

  constructor(choose: (a: number, b: number) => number, none: number) {
    this.#choose = choose;
    this.#none = none;
    this.#weighed = none;
    this.value = none;
  }

  weigh(value: unknown): string | null {
    if (!isNumber(value)) return numberProblem(value);
    this.#weighed = value;
    return null;
  }

  take(): void {
    this.value = this.#choose(this.value, this.#weighed);
  }

  clear(): void {
    this.value = this.#none;
  }
}

/**
 * Compensated summation (A. Neumaier, 1974), because the rounding error of plain addition grows and a stream without
 * buckets adds for months. `#lost` accumulates the rounding errors. Fractions are rounded to 15 digits, the precision
 * that decimals keep in binary: three times 601.6 is 1804.8, not 1804.8000000000002.
 */
class Sum implements Aggregate {
  #sum = 0;
  #lost = 0;
  #nextSum = 0;
  #nextLost = 0;

  get value(): number {
    const sum = this.#sum + this.#lost;
    // A short text has no more than 15 digits, and the number is converted to text anyway.
    return Number.isInteger(sum) || `${sum}`.length <= 16 ? sum : Number(sum.toPrecision(15));
  }

  weigh(value: unknown): string | null {
    if (!isNumber(value)) return numberProblem(value);
    const sum = this.#sum;
    const next = sum + value;
    const lost = Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    // JSON has no infinity.
    if (!Number.isFinite(next + this.#lost + lost)) return 'makes the sum larger than a number can be';
    this.#nextSum = next;
    this.#nextLost = this.#lost + lost;
    return null;
  }

  take(): void {
    this.#sum = this.#nextSum;
    this.#lost = this.#nextLost;
  }

  clear(): void {
    this.#sum = 0;
    this.#lost = 0;
  }
}

/** Excludes infinity: JSON.parse returns it for 1e999. */
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const numberProblem = (value: unknown): string =>
  typeof value === 'number' ? 'is larger than a number can be' : 'is not a number';
