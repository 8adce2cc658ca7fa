/**
 * A value of a message as JSON text, as JSON.stringify writes it. `source` is the text that it was parsed of.
 * Errors: RangeError whose message goes on after the value's name: a number that became infinite, which JSON cannot say, or a value
 * that is nested too deeply to be written (it can be read all the same).
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

/** Short texts are most, and a look at each of their characters is cheaper than JSON.stringify. */
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
  // JSON.stringify writes null for infinity. Few texts can have one, so hardly any is looked through.
  if (text.includes('null') && MAYBE_INFINITE.test(source) && holdsInfinity(value)) {
    throw new RangeError('holds something that is larger than a number can be');
  }
  return text;
}

/** Every number from 1e308 on is so written. */
const MAYBE_INFINITE = /\d[eE]\+?\d{3}|\d{200}/;

function holdsInfinity(value: unknown): boolean {
  let found = false;
  JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part)) found = true;
    return part;
  });
  return found;
}
