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
