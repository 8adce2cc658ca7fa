import type { ControlApi } from './envelope.ts';

/**
 * Mosquitto reads null as a wrong type and not as absent. In the security plugin's commands it is left out at every depth; other
 * APIs carry documents of their users (a query, a configuration), where only the command's own fields are ours to change.
 */
export function withoutNulls(api: ControlApi, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    api === 'dynamic-security' ? kept.map(([key, value]) => [key, deepWithoutNulls(value)]) : kept,
  );
}

function deepWithoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null && item !== undefined).map(deepWithoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(kept.map(([key, item]) => [key, deepWithoutNulls(item)]));
}
