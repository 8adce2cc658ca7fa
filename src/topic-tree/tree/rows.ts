import { Numbers } from './numbers.ts';

/** In place of a row: there is none. */
export const NONE = -1;

/**
 * Rows of eight 32-bit numbers, which are what all of a tree is made of: 32 bytes are half a cache line, and a million of them are no
 * objects that a garbage collector would have to look at. Freed rows are taken again before new ones are made.
 *
 * Column 0 must never hold FREE while a row is in use; a row's number, or NONE, is fine.
 */
export class Rows {
  readonly #numbers = new Numbers();
  /** Rows that were made; some of them are free. */
  #made = 0;
  #free = NONE;
  #freeRows = 0;

  /** Rows in use. */
  get size(): number {
    return this.#made - this.#freeRows;
  }

  /** All rows in use have lower numbers. */
  get end(): number {
    return this.#made;
  }

  get bytes(): number {
    return this.#numbers.bytes;
  }

  /** Bytes of free rows. */
  get spareBytes(): number {
    return this.#freeRows * 32;
  }

  /** Bytes that so many rows more would add. */
  growth(rows: number): number {
    const more = rows - this.#freeRows;
    return more <= 0 ? 0 : Numbers.bytesOf((this.#made + more) << 3) - this.#numbers.bytes;
  }

  get(row: number, column: number): number {
    return this.#numbers.get((row << 3) | column);
  }

  set(row: number, column: number, value: number): void {
    this.#numbers.set((row << 3) | column, value);
  }

  /** A row to be filled: what is in it has no meaning. */
  add(): number {
    const row = this.#free;
    if (row === NONE) {
      this.#made += 1;
      this.#numbers.resize(this.#made << 3);
      return this.#made - 1;
    }
    this.#free = this.get(row, NEXT_FREE);
    this.#freeRows -= 1;
    return row;
  }

  remove(row: number): void {
    this.set(row, 0, FREE);
    this.set(row, NEXT_FREE, this.#free);
    this.#free = row;
    this.#freeRows += 1;
  }

  isFree(row: number): boolean {
    return this.get(row, 0) === FREE;
  }

  /**
   * Moves the rows at the end into free ones, and gives the rest of the memory back. Answers what each row's number is now; whoever
   * holds numbers has to ask it.
   */
  compact(): (row: number) => number {
    const { size } = this;
    const moved = new Int32Array(this.#made - size);
    let to = 0;
    for (let row = size; row < this.#made; row += 1) {
      if (this.isFree(row)) continue;
      while (!this.isFree(to)) to += 1;
      for (let column = 0; column < 8; column += 1) this.set(to, column, this.get(row, column));
      moved[row - size] = to;
    }
    this.#made = size;
    this.#free = NONE;
    this.#freeRows = 0;
    this.#numbers.resize(size << 3);
    return (row) => (row < size ? row : (moved[row - size] as number));
  }
}

const NEXT_FREE = 1;
const FREE = -0x80000000;
