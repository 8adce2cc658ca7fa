import { NONE, type Rows } from './rows.ts';

/**
 * A hash index of rows with as many buckets as rows. Each added row splits one bucket and each removed row may merge
 * two (linear hashing), so the index is never rebuilt as a whole.
 */
export class HashChains {
  readonly #rows: Rows;
  readonly #nextColumn: number;
  readonly #hashOf: (row: number) => number;
  /** The first row of each bucket plus one. 0: the bucket is empty. */
  readonly #heads = new Numbers();
  #buckets = MIN_BUCKETS;
  /** The lowest 2^n - 1 that is at least the number of the last bucket. */
  #mask = MIN_BUCKETS - 1;
  #size = 0;

  constructor(rows: Rows, nextColumn: number, hashOf: (row: number) => number) {
    this.#rows = rows;
    this.#nextColumn = nextColumn;
    this.#hashOf = hashOf;
    this.#heads.resize(MIN_BUCKETS);
  }

  get bytes(): number {
    return this.#heads.bytes;
  }

  /** The first row that may have this hash. `next` returns the others. */
  first(hash: number): number {
    return this.#heads.get(this.#bucketOf(hash)) - 1;
  }

  next(row: number): number {
    return this.#rows.get(row, this.#nextColumn);
  }

  add(row: number, hash: number): void {
    this.#size += 1;
    if (this.#size > this.#buckets) this.#split();
    this.#push(this.#bucketOf(hash), row);
  }

  remove(row: number, hash: number): void {
    const bucket = this.#bucketOf(hash);
    let before = NONE;
    for (let other = this.#heads.get(bucket) - 1; other !== row; other = this.next(other)) before = other;
    if (before === NONE) this.#heads.set(bucket, this.next(row) + 1);
    else this.#rows.set(before, this.#nextColumn, this.next(row));
    this.#size -= 1;
    if (this.#size * 2 < this.#buckets && this.#buckets > MIN_BUCKETS) this.#merge();
  }

  /** Updates the index after rows were renumbered. `visit` is called with each new number. */
  renumber(numberOf: (row: number) => number, visit: (row: number) => void): void {
    for (let bucket = 0; bucket < this.#buckets; bucket += 1) {
      let row = this.#take(bucket);
      if (row === NONE) continue;
      row = numberOf(row);
      this.#heads.set(bucket, row + 1);
      for (;;) {
        visit(row);
        const next = this.next(row);
        if (next === NONE) break;
        const number = numberOf(next);
        this.#rows.set(row, this.#nextColumn, number);
        row = number;
      }
    }
  }

  clear(): void {
    this.#heads.resize(0);
    this.#heads.resize(MIN_BUCKETS);
    this.#buckets = MIN_BUCKETS;
    this.#mask = MIN_BUCKETS - 1;
    this.#size = 0;
  }

  #bucketOf(hash: number): number {
    const bucket = hash & this.#mask;
    return bucket < this.#buckets ? bucket : bucket & (this.#mask >>> 1);
  }

  #push(bucket: number, row: number): void {
    this.#rows.set(row, this.#nextColumn, this.#heads.get(bucket) - 1);
    this.#heads.set(bucket, row + 1);
  }

  #take(bucket: number): number {
    const row = this.#heads.get(bucket) - 1;
    this.#heads.set(bucket, 0);
    return row;
  }

  #split(): void {
    const added = this.#buckets;
    if (added > this.#mask) this.#mask = this.#mask * 2 + 1;
    this.#heads.resize(added + 1);
    this.#buckets = added + 1;
    this.#replace(this.#take(added & (this.#mask >>> 1)));
  }

  #merge(): void {
    const row = this.#take(this.#buckets - 1);
    this.#buckets -= 1;
    if (this.#buckets <= this.#mask >>> 1) this.#mask >>>= 1;
    this.#heads.resize(this.#buckets);
    this.#replace(row);
  }

  #replace(chain: number): void {
    for (let row = chain; row !== NONE; ) {
      const next = this.next(row);
      this.#push(this.#bucketOf(this.#hashOf(row)), row);
      row = next;
    }
  }
}

const MIN_BUCKETS = 256;

/** A list of 32-bit numbers in fixed-size pieces, which grows and shrinks without copying. */
class Numbers {
  readonly #pieces: Int32Array[] = [];

  get(index: number): number {
    return (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] as number;
  }

  set(index: number, value: number): void {
    (this.#pieces[index >>> PIECE_BITS] as Int32Array)[index & PIECE_MASK] = value;
  }

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
