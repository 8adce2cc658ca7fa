import type { PublicResult } from '../public-error.ts';
import { binaryOf } from './text-frame.ts';

/** One result as JSON, for everybody who gets it. */
export class ResultText {
  readonly text: string;
  #bytes: Buffer | null = null;
  #binary: string | null = null;

  constructor(result: PublicResult) {
    this.text = JSON.stringify(result);
  }

  /** The text in UTF-8, one buffer for all: nobody may change it. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  /** The same bytes as a string, see binaryOf: for what is put together with other strings before it is written. */
  get binary(): string {
    this.#binary ??= binaryOf(this.text);
    return this.#binary;
  }

  /** Too large to be copied for each who gets it: thousands may get a snapshot at the same time. */
  get isLarge(): boolean {
    return this.text.length > LARGE;
  }
}

const LARGE = 16_384;
