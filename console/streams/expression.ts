export interface Expression {
  readonly filter?: string;
  readonly output?: string;
}

/** The expression of a query of a stream, `null` if it has none. */
export function expressionOf(query: unknown): Expression | null {
  const { expression } = (query ?? {}) as { readonly expression?: Expression };
  return expression ?? null;
}

/** Without the fields that are empty; without both every message passes. */
export function queryOf({ filter = '', output = '' }: Expression): unknown {
  const given = { ...(filter.trim() === '' ? {} : { filter }), ...(output.trim() === '' ? {} : { output }) };
  return Object.keys(given).length === 0 ? {} : { expression: given };
}

/** Expressions to begin with. Each `title` is a text of the catalogue. */
export const EXAMPLES = [
  { title: 'exampleUnit', expression: { output: '{"celsius": (payload.fahrenheit - 32) * 5 / 9}' } },
  { title: 'exampleTopic', expression: { output: '{"line": levels[1], "at": time, "value": payload}' } },
  { title: 'exampleText', expression: { output: 'payload.value > 80 ? "ALARM" : "OK"' } },
  { title: 'exampleList', expression: { output: 'payload.values.filter(v, v > 20)' } },
  { title: 'exampleTime', expression: { filter: 'time.getHours("Europe/Berlin") < 6' } },
  { title: 'exampleMissing', expression: { filter: 'has(payload.value) && payload.value != null' } },
] as const;
