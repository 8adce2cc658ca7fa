import type { ReadPath } from './json-path.ts';
import type { QueryMessage } from './query-message.ts';

/**
 * Returns a value of a message, except a number, as JSON text: as JSON.stringify writes it, with numbers as they were
 * sent. `read` finds the value.
 * Errors: RangeError with a message that continues the value's name. The value is nested too deeply to be written
 * (reading such a value works).
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
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new RangeError('is nested too deeply, or too long, to be written', { cause });
  }
}
