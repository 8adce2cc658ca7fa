import { NONE } from './rows.ts';

/** Below 0: this one comes before the one that is looked for; 0: it is the one. */
export type Place = (other: number) => number;

/** Numbers in an order of the caller's, in blocks, so that however many there are, an addition looks at few and moves few. */
export class OrderedNumbers {
  readonly #blocks: Block[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Answers the number before it, or NONE. */
  add(value: number, place: Place): number {
    let index = this.#blockOf(place);
    let block = this.#blocks[index] ?? this.#insert(0, new Int32Array(MIN_BLOCK), 0);
    if (block.length === MAX_BLOCK) {
      const half = MAX_BLOCK / 2;
      const right = this.#insert(index + 1, block.numbers.slice(half), half);
      block.length = half;
      if (place(numberAt(right, 0)) < 0) {
        block = right;
        index += 1;
      }
    }
    const at = firstNotBefore(block, place);
    if (block.length === block.numbers.length) this.#grow(block);
    block.numbers.copyWithin(at + 1, at, block.length);
    block.numbers[at] = value;
    block.length += 1;
    return this.#before(index, at);
  }

  /** Answers the number before it, or NONE. */
  remove(place: Place): number {
    const index = this.#blockOf(place);
    const block = this.#blocks[index] as Block;
    const at = firstNotBefore(block, place);
    const before = this.#before(index, at);
    block.numbers.copyWithin(at, at + 1, block.length);
    block.length -= 1;
    if (block.length < MIN_BLOCK) this.#join(index);
    return before;
  }

  /** The first that comes after the place; NONE: there is none. */
  firstAfter(place: Place): number {
    const index = this.#blockOf(place);
    const block = this.#blocks[index];
    if (block === undefined) return NONE;
    const at = firstNotBefore(block, place);
    const first = numberAt(block, at);
    if (first !== NONE && place(first) > 0) return first;
    const next = first === NONE ? NONE : numberAt(block, at + 1);
    return next === NONE ? numberAt(this.#blocks[index + 1], 0) : next;
  }

  renumber(numberOf: (value: number) => number): void {
    for (const { numbers, length } of this.#blocks) {
      for (let at = 0; at < length; at += 1) numbers[at] = numberOf(numbers[at] as number);
    }
  }

  /** The last block that does not begin after the place. */
  #blockOf(place: Place): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (place(numberAt(this.#blocks[middle], 0)) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #before(index: number, at: number): number {
    if (at > 0) return numberAt(this.#blocks[index], at - 1);
    const other = this.#blocks[index - 1];
    return other === undefined ? NONE : numberAt(other, other.length - 1);
  }

  #insert(index: number, numbers: Int32Array, length: number): Block {
    const block = { numbers, length };
    this.#blocks.splice(index, 0, block);
    this.#bytes += bytesOf(numbers);
    return block;
  }

  #grow(block: Block): void {
    const numbers = new Int32Array(block.numbers.length * 2);
    numbers.set(block.numbers);
    this.#bytes += bytesOf(numbers) - bytesOf(block.numbers);
    block.numbers = numbers;
  }

  /** Puts what a small block holds into the one before or after it, where there is room. */
  #join(index: number): void {
    const block = this.#blocks[index] as Block;
    const left = this.#blocks[index - 1];
    const right = this.#blocks[index + 1];
    const into = [left, right].find((other) => other && other.length + block.length <= other.numbers.length);
    if (into === undefined && block.length > 0) return;
    if (into !== undefined) {
      const own = block.numbers.subarray(0, block.length);
      if (into === right) into.numbers.copyWithin(block.length, 0, into.length);
      into.numbers.set(own, into === right ? 0 : into.length);
      into.length += block.length;
    }
    this.#blocks.splice(index, 1);
    this.#bytes -= bytesOf(block.numbers);
  }
}

interface Block {
  /** Those up to `length` are used. */
  numbers: Int32Array;
  length: number;
}

const MIN_BLOCK = 32;
const MAX_BLOCK = 256;

const numberAt = (block: Block | undefined, at: number): number =>
  block !== undefined && at < block.length ? (block.numbers[at] as number) : NONE;

/** With the objects around them. */
const bytesOf = (numbers: Int32Array): number => numbers.byteLength + 250;

function firstNotBefore({ numbers, length }: Block, place: Place): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (place(numbers[middle] as number) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
