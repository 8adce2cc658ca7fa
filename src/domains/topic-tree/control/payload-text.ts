import type { TopicPayload } from '../model/topic-recorder.ts';

/**
 * The fields of a payload in `listTopics`. A payload that is not UTF-8 has `payloadBase64` instead of `payload`.
 * `payloadBytes` is the original size of a truncated payload.
 */
export interface PayloadFields {
  readonly payload?: string;
  readonly payloadBase64?: string;
  readonly payloadBytes?: number;
}

export function payloadFields(payload: TopicPayload | null): PayloadFields {
  if (payload === null) return {};
  const bytes = Buffer.from(payload.data, 'base64');
  const isCut = bytes.length < payload.bytes;
  const text = textOf(bytes, isCut);
  return {
    ...(text === null ? { payloadBase64: payload.data } : { payload: text }),
    ...(isCut ? { payloadBytes: payload.bytes } : {}),
  };
}

/** Returns `null` if the bytes are not UTF-8. A character that was cut in two is omitted. */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}
