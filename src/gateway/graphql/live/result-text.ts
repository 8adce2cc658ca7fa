import type { PublicResult } from '../public-error.ts';

/** Larger texts are not copied for each subscriber: thousands may get a snapshot at the same time. In characters. */
const LARGE = 16_384;

/** One result as JSON, shared by all of its subscribers. */
export class ResultText {
  readonly text: string;
  #bytes: Buffer | null = null;
  #binary: string | null = null;
  #prefix = '';
  #frame = '';
  #event: Buffer | null = null;

  constructor(result: PublicResult) {
    this.text = JSON.stringify(result);
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text);
    return this.#bytes;
  }

  /** The result as a server-sent event. */
  get event(): Buffer {
    this.#event ??= Buffer.from(eventOf(this.text));
    return this.#event;
  }

  /** The same bytes as a binary string, to be concatenated with other strings before it is written. */
  get binary(): string {
    this.#binary ??= binaryOf(this.text);
    return this.#binary;
  }

  /**
   * The text frame of a message with this prefix, as a binary string. The last frame is cached: subscribers with the
   * same operation id receive the same string, which V8 then joins once.
   */
  frame(prefix: string): string {
    if (this.#frame === '' || this.#prefix !== prefix) {
      const { binary } = this;
      this.#prefix = prefix;
      this.#frame = `${textFrameHead(prefix.length + binary.length + 1)}${prefix}${binary}}`;
    }
    return this.#frame;
  }

  /** Whether the text must be written from `bytes`, without a copy. */
  get isLarge(): boolean {
    return this.text.length > LARGE;
  }
}

export const eventOf = (text: string): string => `event: next\ndata: ${text}\n\n`;

const FINAL_TEXT = 0x81;

/** Header of an unmasked text frame (RFC 6455 5.2), as a binary string: each character is one byte. */
export function textFrameHead(bytes: number): string {
  if (bytes < 126) return String.fromCharCode(FINAL_TEXT, bytes);
  if (bytes < 65_536) return String.fromCharCode(FINAL_TEXT, 126, bytes >> 8, bytes & 255);
  const head = Buffer.from([FINAL_TEXT, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUIntBE(bytes, 4, 6);
  return head.toString('latin1');
}

export function binaryOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
