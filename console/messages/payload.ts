import { indentedJson } from './json-layout.ts';

/** How a payload is shown. `auto`: as text, and as hexadecimal bytes if it is not UTF-8. */
export const FORMATS = ['auto', 'text', 'json', 'hex', 'base64'] as const;
export type Format = (typeof FORMATS)[number];

export const formatIn = (value: string | null): Format => FORMATS.find((format) => format === value) ?? 'auto';

/** The beginning of a payload, as the graph returns it. */
interface Payload {
  /** `null` if the payload is not UTF-8. */
  readonly payload: string | null;
  readonly payloadBase64: string | null;
}

/** The payload in a format. A payload that is not JSON is shown as text, one that is not text as bytes. */
export function payloadText({ payload, payloadBase64 }: Payload, format: Format): string {
  if (format === 'base64') return payloadBase64 ?? '';
  if (format === 'hex' || payload === null) return hexOf(payloadBase64 ?? '');
  return format === 'json' ? (indentedJson(payload) ?? payload) : payload;
}

const hexOf = (base64: string): string =>
  [...atob(base64)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');

/** At most `max` characters in one line. */
export function shortText(text: string, max = 80): string {
  const line = text.slice(0, max * 2).replaceAll(/\s+/g, ' ');
  return line.length > max ? `${line.slice(0, max)}…` : line;
}
