interface Parsed {
  readonly value: unknown;
  /** `null` if the text is JSON. */
  readonly problem: string | null;
}

/** The query of a stream. A number that JSON.parse rounds becomes an object with its text, as the graph returns it. */
export function jsonOf(text: string): Parsed {
  try {
    return { value: parse(text, withText), problem: null };
  } catch (error) {
    return { value: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

type Revive = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

// TypeScript 7.0 does not declare the context, and browsers before 2025 do not have it.
const { parse } = JSON as unknown as { parse(text: string, revive: Revive): unknown };

const withText: Revive = (_key, value, { source = '' } = {}) => {
  if (typeof value !== 'number') return value;
  const digits = source.replace(/[eE].*|[^\d]/g, '').length;
  return digits > MAX_DIGITS || !Number.isFinite(value) ? { number: source } : value;
};

/** Digits that a JavaScript number has at least. */
const MAX_DIGITS = 15;
