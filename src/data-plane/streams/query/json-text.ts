import { isDeeper, MAX_WRITTEN_LEVELS, TOO_DEEP_TO_WRITE } from '../../../platform/text/json-depth.ts';
import type { ReadPath } from './json-path.ts';
import type { QueryMessage } from './query-message.ts';

/**
 * Returns a value of a message, except a number, as JSON text: as JSON.stringify writes it, with numbers as they were
 * sent. `read` finds the value.
 * Errors: RangeError with a message that continues the value's name. The value has more than 1,000 levels (reading such
 * a value works), or as `exactRoot`.
 */
export function jsonText(value: unknown, message: QueryMessage, read: ReadPath): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return value === null ? 'null' : structureText(read(message.exactRoot));
  }
}

/** Most texts are short, and checking each character of a short text is faster than JSON.stringify. */
const SHORT = 40;

export function quoted(text: string): string {
  if (text.length > SHORT) return JSON.stringify(text);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit === QUOTE || unit === BACKSLASH || unit >= FIRST_SURROGATE) return JSON.stringify(text);
  }
  return `"${text}"`;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_SURROGATE = 0xd800;

function structureText(value: unknown): string {
  if (isDeeper(value, MAX_WRITTEN_LEVELS)) throw new RangeError(TOO_DEEP_TO_WRITE);
  return JSON.stringify(value);
}
