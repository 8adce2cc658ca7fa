/**
 * A list of 32-bit numbers in fixed-size pieces. It grows and shrinks without copying, and wastes at most one piece.
 */
export class Numbers {
  readonly #pieces: Int32Array[] = [];

  get(index: number): number {
    return (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] as number;
  }

  set(index: number, value: number): void {
    (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] = value;
  }

  /** Sets the length. New pieces are filled with 0. */
  resize(length: number): void {
    const pieces = (length + PIECE_MASK) >>> PIECE_BITS;
    if (pieces === this.#pieces.length) return;
    while (this.#pieces.length < pieces) this.#pieces.push(new Int32Array(1 << PIECE_BITS));
    this.#pieces.length = pieces;
  }

  get bytes(): number {
    return this.#pieces.length * PIECE_BYTES;
  }
}

const PIECE_BITS = 15;
const PIECE_MASK = (1 << PIECE_BITS) - 1;
/** The numbers and the approximate overhead of their objects. */
const PIECE_BYTES = (4 << PIECE_BITS) + 256;
