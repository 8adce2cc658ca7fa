export const NONE = -1;

/**
 * Rows of 32-bit numbers. The garbage collector does not visit single rows. Rows are allocated in fixed-size pieces, so
 * the storage grows and shrinks without copying. Freed rows are reused first. Column 0 must never hold FREE while a row
 * is in use.
 */
export class Rows {
  readonly #columns: number;
  readonly #pieces: Int32Array[] = [];
  /** Number of allocated rows, including free ones. */
  end = 0;
  #free = NONE;
  #freeRows = 0;

  constructor(columns = 8) {
    this.#columns = columns;
  }

  get size(): number {
    return this.end - this.#freeRows;
  }

  get bytes(): number {
    return this.#bytesOf(this.#pieces.length);
  }

  get spareBytes(): number {
    return this.#freeRows * this.#columns * 4;
  }

  growth(rows: number): number {
    const more = rows - this.#freeRows;
    return more <= 0 ? 0 : this.#bytesOf(piecesOf(this.end + more) - this.#pieces.length);
  }

  get(row: number, column: number): number {
    return (this.#pieces[row >>> PIECE_BITS] as Int32Array)[(row & PIECE_MASK) * this.#columns + column] as number;
  }

  set(row: number, column: number, value: number): void {
    (this.#pieces[row >>> PIECE_BITS] as Int32Array)[(row & PIECE_MASK) * this.#columns + column] = value;
  }

  add(): number {
    const row = this.#free;
    if (row === NONE) {
      this.end += 1;
      if ((this.end - 1) >>> PIECE_BITS === this.#pieces.length) this.#resize();
      return this.end - 1;
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

  /** Moves the last rows into free ones and frees the rest. Returns the map from old row numbers to new ones. */
  compact(): (row: number) => number {
    const { size } = this;
    const moved = new Int32Array(this.end - size);
    let to = 0;
    for (let row = size; row < this.end; row += 1) {
      if (this.isFree(row)) continue;
      while (!this.isFree(to)) to += 1;
      for (let column = 0; column < this.#columns; column += 1) this.set(to, column, this.get(row, column));
      moved[row - size] = to;
    }
    this.end = size;
    this.#free = NONE;
    this.#freeRows = 0;
    this.#resize();
    return (row) => (row < size ? row : (moved[row - size] as number));
  }

  #resize(): void {
    const pieces = piecesOf(this.end);
    while (this.#pieces.length < pieces) this.#pieces.push(new Int32Array(this.#columns << PIECE_BITS));
    this.#pieces.length = pieces;
  }

  /** The numbers and the approximate overhead of their objects. */
  #bytesOf(pieces: number): number {
    return pieces * ((this.#columns << (PIECE_BITS + 2)) + 256);
  }
}

const PIECE_BITS = 12;
const PIECE_MASK = (1 << PIECE_BITS) - 1;
const NEXT_FREE = 1;
const FREE = -0x80000000;

const piecesOf = (rows: number): number => (rows + PIECE_MASK) >>> PIECE_BITS;
