import type { TopicPayload } from '../model/topic-recorder.ts';

/** The fields of a payload in `listTopics`. What is no text has `payloadBase64` in place of `payload`; `payloadBytes` tells of one that was cut. */
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

/** Null: it is not UTF-8. Of a character that was cut in two nothing is told. */
function textOf(bytes: Uint8Array, isCut: boolean): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return null;
  }
}
