export class DiskUse {
  readonly #max: number;
  /** Free space required before storing resumes. Without it, each freed page would be used for a single message. */
  readonly #slack: number;
  bytes = 0;
  #full = false;

  constructor(maxBytes: number) {
    this.#max = maxBytes;
    this.#slack = Math.min(maxBytes / 20, MAX_SLACK);
  }

  add(bytes: number): void {
    this.bytes += bytes;
  }

  refusal(): string | null {
    if (this.bytes >= this.#max) this.#full = true;
    else if (this.bytes <= this.#max - this.#slack) this.#full = false;
    return this.#full ? this.#reason() : null;
  }

  #reason(): string {
    const bound = this.#max >= MEBIBYTE ? `${Math.round(this.#max / MEBIBYTE)} MB` : `${this.#max} bytes`;
    return `Stored messages take up all of the ${bound} that they may: nothing is stored until some expire or are cleared`;
  }
}

const MEBIBYTE = 1_048_576;
const MAX_SLACK = 64 * MEBIBYTE;
