import type { PublicResult } from '../public-error.ts';

/** One result as JSON, for everybody who gets it. */
export class ResultText {
  readonly text: string;
  #bytes: Buffer | null = null;

  constructor(result: PublicResult) {
    this.text = JSON.stringify(result);
  }

  /** The text in UTF-8, one buffer for all: nobody may change it. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  /** Too large to be copied for each who gets it: thousands may get a snapshot at the same time. */
  get isLarge(): boolean {
    return this.text.length > LARGE;
  }
}

const LARGE = 16_384;
