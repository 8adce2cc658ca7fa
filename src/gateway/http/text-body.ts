import type { ServerResponse } from 'node:http';

/**
 * Longer texts are written as a Buffer: Node 20 copies a string and stores both until the client has received it. In
 * bytes.
 */
const MAX_COPIED_BYTES = 65_536;

interface TextBody {
  readonly text: string;
  /** Length in UTF-8. */
  readonly bytes: number;
}

export const textBody = (text: string): TextBody => ({ text, bytes: Buffer.byteLength(text) });

/**
 * Ends a response whose head contains `Content-Length: bytes`. ASCII text, which almost every response is, is written
 * as Latin-1, which has the same bytes: Node copies it unchanged and in one piece with the head. For 12 KB that saves 5
 * of 50 µs compared with a Buffer, and 3 µs compared with UTF-8, for which Node reserves three bytes per character.
 */
export function endWithText(res: ServerResponse, { text, bytes }: TextBody): void {
  const encoding = bytes === text.length ? 'latin1' : 'utf8';
  if (bytes > MAX_COPIED_BYTES) res.end(Buffer.from(text, encoding));
  else res.end(text, encoding);
}
