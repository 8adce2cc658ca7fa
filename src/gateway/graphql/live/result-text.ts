import type { PublicResult } from '../public-error.ts';
import { binaryOf } from './text-frame.ts';

/** Larger texts are not copied for each subscriber: thousands may get a snapshot at the same time. In characters. */
const LARGE = 16_384;

/** One result as JSON, shared by all of its subscribers. */
export class ResultText {
  readonly text: string;
  #bytes: Buffer | null = null;
  #binary: string | null = null;

  constructor(result: PublicResult) {
    this.text = JSON.stringify(result);
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  /** The same bytes as a binary string, to be concatenated with other strings before it is written. */
  get binary(): string {
    this.#binary ??= binaryOf(this.text);
    return this.#binary;
  }

  /** Whether the text must be written from `bytes`, without a copy. */
  get isLarge(): boolean {
    return this.text.length > LARGE;
  }
}
