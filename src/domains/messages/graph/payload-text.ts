import { isUtf8 } from 'node:buffer';

/** The beginning of a payload. */
interface Preview {
  readonly payload: Buffer;
  readonly payloadBytes: number;
}

/** `null` if the payload is not UTF-8. */
export function payloadText({ payload, payloadBytes }: Preview): string | null {
  if (isUtf8(payload)) return payload.toString();
  if (payload.length === payloadBytes) return null;
  try {
    // The beginning of a longer text: omits the bytes of a truncated character.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload, { stream: true });
  } catch {
    return null;
  }
}
