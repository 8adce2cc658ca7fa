export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A field of a command by its name in any case, as Mosquitto reads JSON; undefined where there is none. The spelling that was
 * asked for goes before others.
 */
export function fieldOf(fields: Fields, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name];
  for (const key of Object.keys(fields)) {
    if (key.length === name.length && key.toLowerCase() === name.toLowerCase()) return fields[key];
  }
  return undefined;
}
