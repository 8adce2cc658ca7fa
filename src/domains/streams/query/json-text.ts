/**
 * Returns a value of a message as JSON text, as JSON.stringify writes it. `source` is the text it was parsed from.
 * Errors: RangeError with a message that continues the value's name. The value is an infinite number, which JSON does
 * not have, or is nested too deeply to be written (reading such a value works).
 */
export function jsonText(value: unknown, source: string): string {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) throw new RangeError('is larger than a number can be');
      return `${value}`;
    case 'string':
      return quoted(value);
    case 'boolean':
      return value ? 'true' : 'false';
    default:
      return value === null ? 'null' : structureText(value, source);
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

function structureText(value: unknown, source: string): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch {
    throw new RangeError('is nested too deeply, or too long, to be written');
  }
  // JSON.stringify writes null for infinity. The test of `source` avoids the scan for almost all texts.
  if (text.includes('null') && MAYBE_INFINITE.test(source) && holdsInfinity(value)) {
    throw new RangeError('holds something that is larger than a number can be');
  }
  return text;
}

/** Matches every way to write a number of at least 1e308. */
const MAYBE_INFINITE = /\d[eE]\+?\d{3}|\d{200}/;

function holdsInfinity(value: unknown): boolean {
  let found = false;
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part)) found = true;
    return part;
  });
  return found;
}
