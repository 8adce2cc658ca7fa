export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a field by its name. Case-insensitive like Mosquitto's JSON parser, but an exact match is preferred. */
export function fieldOf(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name];
  for (const key of Object.keys(fields)) {
    if (key.length === name.length && key.toLowerCase() === name.toLowerCase()) return fields[key];
  }
  return undefined;
}

/** Cuts off a fraction and limits the size, because larger numbers are not exact. `null` for other values. */
export function integerOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  return Math.trunc(Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
}

/** The list in a field of response data; empty if there is none. */
export function listIn(data: unknown, name: string): readonly unknown[] {
  const list = isFields(data) ? fieldOf(data, name) : undefined;
  return Array.isArray(list) ? list : [];
}
