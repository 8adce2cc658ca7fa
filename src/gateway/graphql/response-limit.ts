import { ServiceError } from '../../platform/errors.ts';

/** Maximum bytes of a result, message or event. Lists sent page by page and downloads have no bound as a whole. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

export class ResponseTooLarge extends ServiceError {
  /** `isDone`: whether the operation was a mutation, which has been carried out. */
  constructor(isDone = false) {
    const done = isDone ? 'The mutation has been carried out, but its ' : 'The ';
    const words = `${done}response is larger than ${MAX_RESPONSE_BYTES} bytes: select fewer fields or smaller pages`;
    super('TOO_LARGE', words, { info: { limit: MAX_RESPONSE_BYTES } });
  }
}

/** Whether the JSON text, which is not created, would be too large. Counts a lower bound: few escapes, no digits. */
export function isTooLarge(value: unknown): boolean {
  return leftAfter(value, MAX_RESPONSE_BYTES) < 0;
}

/** Bytes of the JSON text of a value, counted like in `isTooLarge`. Above `most` the number is not exact. */
export function sizeOf(value: unknown, most: number): number {
  return most - leftAfter(value, most);
}

/** Texts up to this length are counted by their length, longer ones by their bytes in JSON. */
const SHORT = 100;
const NEEDS_ESCAPES = /[^ !#-[\]-~]/;

/** Subtracts the bytes of the JSON text from `bytes`. Negative if it is too large. */
function leftAfter(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - textBytes(value) - 2;
  if (typeof value !== 'object' || value === null) return bytes - 1;
  let left = bytes - 1;
  if (Array.isArray(value)) {
    for (const each of value) {
      left = leftAfter(each, left - 1);
      if (left < 0) return left;
    }
    return left;
  }
  for (const key in value) {
    const inner: unknown = (value as Record<string, unknown>)[key];
    if (inner === undefined) continue;
    left = leftAfter(inner, left - key.length - 4);
    if (left < 0) return left;
  }
  return left;
}

function textBytes(text: string): number {
  if (text.length <= SHORT || !NEEDS_ESCAPES.test(text)) return text.length;
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

export function boundedJson(value: unknown): string {
  if (isTooLarge(value)) throw new ResponseTooLarge();
  return JSON.stringify(value);
}
