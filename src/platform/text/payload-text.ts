import { isUtf8 } from 'node:buffer';

/** Returns `null` if the bytes are not UTF-8. An incomplete last character of a truncated payload is omitted. */
export function payloadText(bytes: Buffer, isTruncated: boolean): string | null {
  if (isUtf8(bytes)) return bytes.toString();
  if (!isTruncated) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return null;
  }
}
