/**
 * A list of 32-bit numbers in pieces, so that it grows and shrinks without being copied: it never takes more than one piece beyond what
 * it holds, and no moment is longer than others.
 */
export class Numbers {
  readonly #pieces: Int32Array[] = [];

  get(index: number): number {
    return (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] as number;
  }

  set(index: number, value: number): void {
    (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] = value;
  }

  /** Room for so many. New pieces hold 0; those beyond go. */
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
/** The numbers, and the objects around them. */
const PIECE_BYTES = (4 << PIECE_BITS) + 256;
