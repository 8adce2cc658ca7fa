import type { Random } from '../random.ts';
import { hostileText } from '../requests/hostile-values.ts';

/** Written into JSON as they are: JSON.stringify would change or refuse them. */
export const NUMBERS = [
  '-1',
  '-0',
  '0.5',
  '65536',
  '2147483648',
  '4294967296',
  '253402300800000',
  '8640000000000001',
  '9007199254740993',
  '-62198755200001',
  '1e308',
  '1e400',
  '-1e400',
  '9'.repeat(400),
];
const OTHER_KINDS = ['null', 'true', '[]', '{}', '[[]]', '"text"', '1', '{"__proto__":{"a":1},"constructor":1}'];

/** Writes values as JSON, and replaces some of what is in them by odd values. */
export class PoisonedJson {
  /** Number of replaced values. */
  replaced = 0;
  readonly #random: Random;
  readonly #kept: ReadonlySet<string>;

  /** `kept`: names of members whose values are not replaced themselves. */
  constructor(random: Random, kept: readonly string[]) {
    this.#random = random;
    this.#kept = new Set(kept);
  }

  write(value: unknown, name = ''): string {
    const isObject = typeof value === 'object' && value !== null;
    // Of lists and objects few, because what is in them would not be read.
    if (!this.#kept.has(name) && this.#random.chance(isObject ? 0.01 : 0.15)) return this.#replacement(value);
    if (Array.isArray(value)) return `[${value.map((one) => this.write(one))}]`;
    if (!isObject) return JSON.stringify(value);
    const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${this.write(one, key)}`);
    return `{${members}}`;
  }

  #replacement(value: unknown): string {
    this.replaced += 1;
    if (typeof value === 'object' || this.#random.chance(0.2)) return this.#random.pick(OTHER_KINDS);
    return typeof value === 'number' ? this.#random.pick(NUMBERS) : JSON.stringify(hostileText(this.#random));
  }
}
