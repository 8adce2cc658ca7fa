import type { ServerResponse } from 'node:http';

/** Longer texts are written as a Buffer, in bytes: Node 20 would store a copy until the client has received it. */
export const MAX_COPIED_BYTES = 65_536;

export interface TextBody {
  readonly text: string;
  readonly bytes: number;
}

export const bytesOf = ({ text, bytes }: TextBody): Buffer<ArrayBuffer> => Buffer.from(text, encodingOf(text, bytes));

export const textBody = (text: string): TextBody => ({ text, bytes: Buffer.byteLength(text) });

/**
 * Ends a response. ASCII text is written as Latin-1, which Node copies unchanged and in one piece with the head. For 12
 * KB that saves 5 of 50 µs compared with a Buffer and 3 µs compared with UTF-8.
 */
export function endWithText(res: ServerResponse, { text, bytes }: TextBody): void {
  if (bytes > MAX_COPIED_BYTES) res.end(bytesOf({ text, bytes }));
  else res.end(text, encodingOf(text, bytes));
}

/** Ends a response with bytes that are not text, in the same way. */
export function endWithBytes(res: ServerResponse, bytes: Buffer): void {
  if (bytes.length > MAX_COPIED_BYTES) res.end(bytes);
  else res.end(bytes.toString('latin1'), 'latin1');
}

const encodingOf = (text: string, bytes: number) => (bytes === text.length ? 'latin1' : 'utf8');
