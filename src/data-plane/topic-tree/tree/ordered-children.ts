import { NONE } from './rows.ts';

/** Compares a number with the searched position. Negative if the number precedes it, 0 if it is the searched one. */
export type CompareTo = (other: number) => number;

/**
 * Numbers in the order of their names, in sorted blocks. The `start` of a block is at most its first name, and greater
 * than all names of the previous block. So the common prefix of the starts of two adjacent blocks is a prefix of all
 * names in the first one. For each number, the four units after that prefix are stored as a key, which is mostly enough
 * to find a position.
 */
export class OrderedChildren {
  readonly #nameOf: (value: number) => string;
  readonly #blocks: Block[] = [];
  bytes = 0;

  constructor(nameOf: (value: number) => string) {
    this.#nameOf = nameOf;
  }

  add(value: number, name: string, compareTo: CompareTo): number {
    let index = this.#blockOf(name);
    let block = this.#blocks[index] ?? this.#insert(0, { start: '', skip: 0, ...cellsOf(MIN_BLOCK), length: 0 });
    if (block.length === MAX_BLOCK) {
      const right = this.#split(index);
      if (name >= right.start) {
        block = right;
        index += 1;
      }
    }
    const at = firstNotBefore(block, name, compareTo);
    if (block.length === block.numbers.length) this.#grow(block);
    block.numbers.copyWithin(at + 1, at, block.length);
    block.keys.copyWithin(at + 1, at, block.length);
    block.numbers[at] = value;
    block.keys[at] = keyOf(name, block.skip);
    block.length += 1;
    return this.#before(index, at);
  }

  remove(name: string, compareTo: CompareTo): number {
    const index = this.#blockOf(name);
    const block = this.#blocks[index] as Block;
    const at = firstNotBefore(block, name, compareTo);
    const before = this.#before(index, at);
    block.numbers.copyWithin(at, at + 1, block.length);
    block.keys.copyWithin(at, at + 1, block.length);
    block.length -= 1;
    if (block.length < MIN_BLOCK) this.#merge(index);
    return before;
  }

  firstAfter(name: string, compareTo: CompareTo): number {
    const index = this.#blockOf(name);
    const block = this.#blocks[index];
    if (block === undefined) return NONE;
    const at = firstNotBefore(block, name, compareTo);
    const first = numberAt(block, at);
    if (first !== NONE && compareTo(first) > 0) return first;
    const next = first === NONE ? NONE : numberAt(block, at + 1);
    return next === NONE ? numberAt(this.#blocks[index + 1], 0) : next;
  }

  renumber(numberOf: (value: number) => number): void {
    for (const { numbers, length } of this.#blocks) {
      for (let at = 0; at < length; at += 1) numbers[at] = numberOf(numbers[at] as number);
    }
  }

  #blockOf(name: string): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#blocks[middle] as Block).start <= name) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #before(index: number, at: number): number {
    if (at > 0) return numberAt(this.#blocks[index], at - 1);
    const other = this.#blocks[index - 1];
    return other === undefined ? NONE : numberAt(other, other.length - 1);
  }

  #insert(index: number, block: Block): Block {
    this.#blocks.splice(index, 0, block);
    this.bytes += bytesOf(block);
    return block;
  }

  #split(index: number): Block {
    const block = this.#blocks[index] as Block;
    const half = MAX_BLOCK / 2;
    const last = this.#nameOf(block.numbers[half - 1] as number);
    const first = this.#nameOf(block.numbers[half] as number);
    const numbers = block.numbers.slice(half);
    const start = Buffer.from(first.slice(0, inCommon(last, first) + 1), 'utf16le').toString('utf16le');
    const right = this.#insert(index + 1, {
      start,
      skip: block.skip,
      numbers,
      keys: block.keys.slice(half),
      length: half,
    });
    block.length = half;
    this.#updateKeys(index);
    this.#updateKeys(index + 1);
    return right;
  }

  #grow(block: Block): void {
    this.bytes -= bytesOf(block);
    const { numbers, keys } = block;
    Object.assign(block, cellsOf(numbers.length * 2));
    block.numbers.set(numbers);
    block.keys.set(keys);
    this.bytes += bytesOf(block);
  }

  /** Merges a small block into the previous or next block if there is room. */
  #merge(index: number): void {
    const block = this.#blocks[index] as Block;
    const left = this.#blocks[index - 1];
    const right = this.#blocks[index + 1];
    const into = [left, right].find((other) => other && other.length + block.length <= other.numbers.length);
    if (into === undefined && block.length > 0) return;
    this.bytes -= bytesOf(block);
    if (into === undefined) {
      this.#blocks.splice(index, 1);
      // The first block starts with the empty name.
      if (right && left === undefined) this.#setStart(right, '');
      this.#updateKeys(index - 1);
      this.#updateKeys(index);
      return;
    }
    const own = block.numbers.subarray(0, block.length);
    if (into === right) {
      into.numbers.copyWithin(block.length, 0, into.length);
      this.#setStart(into, block.start);
    }
    into.numbers.set(own, into === right ? 0 : into.length);
    into.length += block.length;
    // The keys of the two blocks begin at different units. -1 forces `#updateKeys` to compute them again.
    into.skip = -1;
    this.#blocks.splice(index, 1);
    this.#updateKeys(into === right ? index : index - 1);
  }

  #setStart(block: Block, start: string): void {
    this.bytes -= bytesOf(block);
    block.start = start;
    this.bytes += bytesOf(block);
  }

  /** Computes the keys again after the `start` of a block or of the next block changed. */
  #updateKeys(index: number): void {
    const block = this.#blocks[index];
    if (block === undefined) return;
    const next = this.#blocks[index + 1];
    const skip = next === undefined ? 0 : inCommon(block.start, next.start);
    if (skip === block.skip) return;
    block.skip = skip;
    for (let at = 0; at < block.length; at += 1)
      block.keys[at] = keyOf(this.#nameOf(block.numbers[at] as number), skip);
  }
}

interface Block {
  start: string;
  skip: number;
  /** Only the first `length` numbers and keys are used. */
  numbers: Int32Array;
  keys: Uint32Array;
  length: number;
}

const MIN_BLOCK = 32;
const MAX_BLOCK = 256;

const cellsOf = (length: number): Pick<Block, 'numbers' | 'keys'> => ({
  numbers: new Int32Array(length),
  keys: new Uint32Array(length),
});

const numberAt = (block: Block | undefined, at: number): number =>
  block !== undefined && at < block.length ? (block.numbers[at] as number) : NONE;

const bytesOf = ({ numbers, keys, start }: Block): number =>
  numbers.byteLength + keys.byteLength + 2 * start.length + 480;

function firstNotBefore(block: Block, name: string, compareTo: CompareTo): number {
  const { numbers, keys } = block;
  const key = keyOf(name, block.skip);
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = keys[middle] as number;
    if (other < key || (other === key && compareTo(numbers[middle] as number) < 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Packs four units into a number that is monotonic in the name. Units after the first one above 254 are ignored. */
function keyOf(name: string, skip: number): number {
  let key = 0;
  for (let at = skip, shift = 24; shift >= 0 && at < name.length; at += 1, shift -= 8) {
    const unit = name.charCodeAt(at);
    if (unit >= 255) return (key | (255 << shift)) >>> 0;
    key |= unit << shift;
  }
  return key >>> 0;
}

function inCommon(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at;
}
