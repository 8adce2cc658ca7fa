/**
 * Head of a text message that a server sends in one frame, without a mask (RFC 6455 5.2): a string whose characters are the bytes.
 */
export function textFrameHead(bytes: number): string {
  if (bytes < 126) return String.fromCharCode(FINAL_TEXT, bytes);
  if (bytes < 65_536) return String.fromCharCode(FINAL_TEXT, 126, bytes >> 8, bytes & 255);
  const head = Buffer.from([FINAL_TEXT, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUIntBE(bytes, 4, 6);
  return head.toString('latin1');
}

const FINAL_TEXT = 0x81;

/** The bytes of a text in UTF-8, each as the character of that number. */
export function binaryOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
