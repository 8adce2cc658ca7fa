/**
 * JSON whose long numbers keep their digits: columns may hold 64-bit identifiers and exact decimals, which exceed a
 * JavaScript number. Such a number becomes a text with a mark that no other text starts with.
 */
const MARK = '\u0000number:';
const SAFE_DIGITS = 15;

/** Skips strings, so that digits within them remain unchanged. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g;
/** Long, or outside the range of a JavaScript number. */
const MAYBE_LONG = /[\d.]{16}|[eE][+-]?\d{3}/;
const WRITTEN_MARK = /"\\u0000number:([^"]*)"/g;

export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Invalid JSON was refused above with its original text.
  return MAYBE_LONG.test(text) ? JSON.parse(text.replace(TOKEN, marked)) : value;
}

/** A value of such a document as text: strings unchanged, numbers with their digits, other values as JSON. */
export function exactText(value: unknown): string {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value;
  return exactJson(value);
}

export const exactJson = (value: unknown): string => JSON.stringify(value).replace(WRITTEN_MARK, '$1');

export function exactNumber(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : null;
}

/**
 * A text that starts with the mark would be read as a number. PostgreSQL accepts no NUL in a text, so it cannot store
 * such a text.
 */
function marked(token: string): string {
  if (token.startsWith('"')) return token;
  const isKept = token.replace(/[eE].*|[^\d]/g, '').length <= SAFE_DIGITS && !/[eE][+-]?\d{3}/.test(token);
  return isKept ? token : JSON.stringify(`${MARK}${token}`);
}
