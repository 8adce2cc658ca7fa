import type { Condition, SelectItem, StreamQuery } from '../../../../src/data-plane/streams/model/stream-query.ts';

type Outcome = { readonly outcome: 'PASS'; readonly output: unknown } | { readonly outcome: 'FILTERED' | 'FAILED' };

/**
 * A plain reference implementation of a query: it stores all counted messages, and computes everything again for each
 * one. Numbers of messages have to be such that their sums are exact.
 */
export class ReferenceQuery {
  readonly #select: readonly SelectItem[];
  readonly #where: Condition | undefined;
  /** The values of the items, of each message that was counted in. */
  #history: { readonly bucket: number; readonly values: readonly unknown[] }[] = [];

  constructor({ select = [], where = [] }: StreamQuery) {
    this.#select = select;
    this.#where = where[0];
  }

  process(payload: Uint8Array, now: number): Outcome {
    const where = this.#where;
    if (where === undefined && this.#select.length === 0) return { outcome: 'PASS', output: undefined };
    let message: unknown;
    try {
      message = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload));
    } catch {
      return { outcome: 'FAILED' };
    }
    const byAlias = where && this.#select.findIndex(({ alias }) => alias === where.left);
    if (this.#select.length === 0) {
      return where && !meets(valueAt(message, where.left), where)
        ? { outcome: 'FILTERED' }
        : { outcome: 'PASS', output: message };
    }

    const bucket = this.#bucketStart(now);
    const taken = this.#select.map((item) => this.#take(item, message, now, bucket));
    if (taken.includes(undefined)) return { outcome: 'FILTERED' };
    if (where && byAlias === -1 && !meets(valueAt(message, where.left), where)) return { outcome: 'FILTERED' };
    const aliased = this.#select[byAlias ?? -1];
    if (where && aliased && !isAggregate(aliased) && !meets(taken[byAlias ?? -1], where))
      return { outcome: 'FILTERED' };
    const needsNumber = ({ function: name }: SelectItem) => name === 'min' || name === 'max' || name === 'sum';
    if (this.#select.some((item, index) => needsNumber(item) && typeof taken[index] !== 'number')) {
      return { outcome: 'FAILED' };
    }

    this.#history = this.#history.filter((kept) => kept.bucket === bucket);
    this.#history.push({ bucket, values: taken });
    const results = this.#select.map((item, index) => {
      const numbers = this.#history.map(({ values }) => values[index] as number);
      if (item.function === 'count') return numbers.length;
      if (item.function === 'min') return Math.min(...numbers);
      if (item.function === 'max') return Math.max(...numbers);
      if (item.function === 'sum') return numbers.reduce((sum, number) => sum + number, 0);
      return taken[index];
    });
    if (where && aliased && isAggregate(aliased) && !meets(results[byAlias ?? -1], where))
      return { outcome: 'FILTERED' };
    const output = {};
    for (const [index, { target = '' }] of this.#select.entries()) {
      if (target !== '') put(output, keysOf(target), results[index]);
    }
    return { outcome: 'PASS', output };
  }

  #take({ source = '', function: name }: SelectItem, message: unknown, now: number, bucket: number): unknown {
    if (name === 'time_bucket' || source === 'windowstart') return bucket;
    if (source === 'windowend') return bucket + this.#interval().size;
    if (source === 'timestamp') return Math.floor(now / 1000);
    return source === '' || source === '*' ? null : valueAt(message, source);
  }

  #bucketStart(now: number): number {
    const { size, offset } = this.#interval();
    let start = offset;
    while (start * 1000 > now) start -= size;
    while ((start + size) * 1000 <= now) start += size;
    return start;
  }

  #interval(): { readonly size: number; readonly offset: number } {
    const item = this.#select.find(({ function: name }) => name === 'time_bucket');
    return { size: item?.intervalsize ?? 1e9, offset: item?.intervaloffset ?? 0 };
  }
}

const isAggregate = ({ function: name }: SelectItem): boolean => name !== undefined && name !== 'time_bucket';

const keysOf = (path: string): string[] => [...path.matchAll(/\[([^\]]+)\]/g)].map(([, key = '']) => key);

function valueAt(message: unknown, path: string): unknown {
  let value = message;
  for (const key of keysOf(path)) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

function put(output: object, [key = '', ...rest]: string[], value: unknown): void {
  const inner = rest.length === 0 ? value : ((Object.getOwnPropertyDescriptor(output, key)?.value as object) ?? {});
  if (rest.length > 0) put(inner as object, rest, value);
  Object.defineProperty(output, key, { value: inner, enumerable: true, configurable: true });
}

function meets(left: unknown, { operator, right }: Condition): boolean {
  if (left === undefined) return false;
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  if (typeof left !== typeof right) return false;
  const order =
    typeof left === 'string' && typeof right === 'string'
      ? Buffer.compare(Buffer.from(left), Buffer.from(right))
      : Math.sign(Number(left) - Number(right));
  return { '<': order < 0, '>': order > 0, '<=': order <= 0, '>=': order >= 0 }[operator];
}
