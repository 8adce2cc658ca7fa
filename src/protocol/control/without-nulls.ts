import type { ControlApi } from './envelope.ts';

/**
 * Removes null fields, because Mosquitto reads null as a wrong type; at every depth for dynamic security. Other APIs
 * contain documents of users, such as a query, so only the command's own fields are changed.
 */
export function withoutNulls(api: ControlApi, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    api === 'dynamic-security' ? present.map(([key, value]) => [key, deepWithoutNulls(value)]) : present,
  );
}

function deepWithoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null && item !== undefined).map(deepWithoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(present.map(([key, item]) => [key, deepWithoutNulls(item)]));
}
