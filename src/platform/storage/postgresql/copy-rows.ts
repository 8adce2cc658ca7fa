/**
 * `COPY … FROM STDIN` in the binary format: half the processor time of an INSERT. Format:
 * https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4
 */
import type { Client } from 'pg';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** The signature, flags and the length of an extension, which there is not. */
const HEADER = Buffer.concat([SIGNATURE, Buffer.alloc(8)]);
const TRAILER_BYTES = 2;
const LENGTH_BYTES = 4;
const NULL = -1;
const TWO_POW_32 = 0x1_0000_0000;

/** Dimensions, whether there are nulls, the type, and length and lower bound of the only dimension. */
const ARRAY_BYTES = 20;

/** The oids of types: https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_type.dat */
const ELEMENT = { bytea: 17, bigint: 20, smallint: 21, text: 25 } as const;

interface CopySize {
  readonly rows: number;
  readonly arrays?: number;
  /** Columns of all rows, and elements of all arrays. */
  readonly values: number;
  /** Of all columns and elements, but not of whole arrays: 2, 4 and 8 for integers, the length for others. */
  readonly bytes: number;
}

/** Rows as they are made, in a buffer whose size is known before. Each value is one of the methods, in order. */
export class CopyRows {
  readonly #buffer: Buffer;
  #at: number;
  #isEnded = false;

  /** `earlier`: rows that were sent, whose buffer is used again if it is large enough. */
  constructor({ rows, arrays = 0, values, bytes }: CopySize, earlier: CopyRows | null = null) {
    const size = HEADER.length + 2 * rows + LENGTH_BYTES * values + ARRAY_BYTES * arrays + bytes + TRAILER_BYTES;
    this.#buffer = earlier !== null && earlier.#buffer.length >= size ? earlier.#buffer : Buffer.allocUnsafe(size);
    this.#at = HEADER.copy(this.#buffer);
  }

  begin(columns: number): void {
    this.#at = this.#buffer.writeInt16BE(columns, this.#at);
  }

  smallint(value: number): void {
    this.#at = this.#buffer.writeInt16BE(value, this.#length(2));
  }

  integer(value: number): void {
    this.#at = this.#buffer.writeInt32BE(value, this.#length(4));
  }

  /** A safe integer. */
  bigint(value: number): void {
    const high = Math.floor(value / TWO_POW_32);
    const at = this.#buffer.writeInt32BE(high, this.#length(8));
    this.#at = this.#buffer.writeUInt32BE(value - high * TWO_POW_32, at);
  }

  /** `bytes`: its length in UTF-8. */
  text(value: string, bytes: number): void {
    const at = this.#length(bytes);
    this.#at = at + this.#buffer.write(value, at);
  }

  bytea(value: Uint8Array | null): void {
    const at = this.#length(value?.length ?? NULL);
    if (value !== null) this.#buffer.set(value, at);
    this.#at = at + (value?.length ?? 0);
  }

  /** The next `count` values are elements of an array, with `bytes` in total. At least one. */
  array(element: keyof typeof ELEMENT, count: number, bytes: number): void {
    let at = this.#length(ARRAY_BYTES + count * LENGTH_BYTES + bytes);
    for (const field of [1, 0, ELEMENT[element], count, 1]) at = this.#buffer.writeInt32BE(field, at);
    this.#at = at;
  }

  /** The size of its buffer. */
  get bytes(): number {
    return this.#buffer.length;
  }

  /** Returns all of it. Called again, it returns the same. */
  end(): Buffer {
    if (this.#isEnded) return this.#buffer.subarray(0, this.#at);
    this.#isEnded = true;
    this.#at = this.#buffer.writeInt16BE(-1, this.#at);
    return this.#buffer.subarray(0, this.#at);
  }

  #length(bytes: number): number {
    return this.#buffer.writeInt32BE(bytes, this.#at);
  }
}

interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * Runs statements of which one is `COPY … FROM STDIN WITH (FORMAT binary)`, as one transaction with one response.
 * Errors: those of pg.
 */
export function copyInto(client: Client, statements: string, rows: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    // What pg calls a submittable: https://node-postgres.com/apis/client#clientquery
    const copy = {
      submit: (connection: CopyConnection) => connection.query(statements),
      handleCopyInResponse: (connection: CopyConnection) => {
        connection.sendCopyFromChunk(rows);
        connection.endCopyFrom();
      },
      handleCommandComplete: () => undefined,
      handleError: reject,
      handleReadyForQuery: () => resolve(),
    };
    client.query(copy as never);
  });
}
