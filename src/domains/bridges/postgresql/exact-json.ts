/**
 * JSON whose long numbers keep their digits: identifiers of 64 bits and exact decimals are more than a JavaScript number holds, and the
 * columns that they go to hold them. Such a number is a text here, behind a mark that no other text begins with.
 */
const MARK = '\u0000number:';
/** Digits that a JavaScript number always keeps. */
const SAFE_DIGITS = 15;

/** Skips texts, so that digits within them stay as they are. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g;
/** Long, or beyond what a JavaScript number reaches. */
const MAYBE_LONG = /[\d.]{16}|[eE][+-]?\d{3}/;
const WRITTEN_MARK = /"\\u0000number:([^"]*)"/g;

/** Errors: SyntaxError. */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // What is no JSON is refused above, as it is written.
  return MAYBE_LONG.test(text) ? JSON.parse(text.replace(TOKEN, marked)) : value;
}

/** A value of such a document as a text: strings as they are, numbers with their digits, everything else as JSON. */
export function exactText(value: unknown): string {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value;
  return exactJson(value);
}

/** As JSON. */
export const exactJson = (value: unknown): string => JSON.stringify(value).replace(WRITTEN_MARK, '$1');

/** A number of such a document; null: it is none. */
export function exactNumber(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.startsWith(MARK) ? value.slice(MARK.length) : null;
}

/** A text that begins with the mark would be taken for a number: PostgreSQL takes no NUL in a text, so it keeps no such text anyway. */
function marked(token: string): string {
  if (token.startsWith('"')) return token;
  const isKept = token.replace(/[eE].*|[^\d]/g, '').length <= SAFE_DIGITS && !/[eE][+-]?\d{3}/.test(token);
  return isKept ? token : JSON.stringify(`${MARK}${token}`);
}
