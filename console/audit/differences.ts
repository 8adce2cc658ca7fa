interface Difference {
  readonly key: string;
  /** As text; `null` if there was none. */
  readonly before: string | null;
  readonly after: string | null;
}

/** The fields of two JSON values, in the order in which they occur. Values that are not objects are one field. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  const [previous, current] = [fieldsOf(before), fieldsOf(after)];
  const keys = new Set([...previous.keys(), ...current.keys()]);
  return [...keys].map((key) => ({ key, before: previous.get(key) ?? null, after: current.get(key) ?? null }));
}

function fieldsOf(value: unknown): ReadonlyMap<string, string> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== 'object' || Array.isArray(value)) return new Map([['value', textOf(value)]]);
  return new Map(Object.entries(value).map(([key, field]) => [key, textOf(field)]));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));

/** Whether an operation only said what it would have done. */
export const isPreview = (after: unknown): boolean =>
  typeof after === 'object' && after !== null && (after as { readonly dryRun?: unknown }).dryRun === true;
