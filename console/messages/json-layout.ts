/*
 * JSON with the tokens of its text: JSON.parse would round numbers, write 21.20 as 21.2, and omit repeated keys.
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const OPENS = '{[';
const CLOSES = '}]';

/** The tokens of a JSON text. `null` if it is not JSON. */
function tokensOf(text: string): readonly string[] | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return text.match(TOKEN) ?? [];
}

/** The text in one line without blanks. `null` if it is not JSON. */
export const compactJson = (text: string): string | null => tokensOf(text)?.join('') ?? null;

/** The text with a line for each value, as JSON.stringify writes it with two blanks. `null` if it is not JSON. */
export function indentedJson(text: string): string | null {
  const tokens = tokensOf(text);
  if (tokens === null) return null;
  let written = '';
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const isEmpty = CLOSES.includes(token) && OPENS.includes(tokens[index - 1] ?? ' ');
    if (CLOSES.includes(token)) depth -= 1;
    if (index > 0 && !isEmpty && (CLOSES.includes(token) || beginsLine(tokens[index - 1]))) {
      written += `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
    }
    written += token === ':' ? ': ' : token;
    if (OPENS.includes(token)) depth += 1;
  }
  return written;
}

/** Levels that are indented further, so that a payload of brackets does not become megabytes of blanks. */
const MAX_INDENT = 100;

const beginsLine = (previous = ' '): boolean => OPENS.includes(previous) || previous === ',';
