const MAX_BYTES = 1_024;
const scratch = Buffer.alloc(MAX_BYTES);

/** Numbers in few bytes. One writer at a time: they share a buffer. */
export class ByteWriter {
  #length = 0;

  byte(value: number): void {
    this.#length = scratch.writeUInt8(value, this.#length);
  }

  /** An integer from 0 to 2^53 - 1: seven bits per byte, the lowest first. */
  count(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) + 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  /** About seven decimal digits. */
  float(value: number): void {
    this.#length = scratch.writeFloatLE(value, this.#length);
  }

  double(value: number): void {
    this.#length = scratch.writeDoubleLE(value, this.#length);
  }

  bytes(): Buffer {
    return Buffer.from(scratch.subarray(0, this.#length));
  }
}

/** Errors: RangeError after the end. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++);
  }

  count(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  }

  float(): number {
    const value = this.#bytes.readFloatLE(this.#at);
    this.#at += 4;
    return value;
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }
}
