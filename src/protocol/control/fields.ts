import { isDateTime } from '../../platform/date-times.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object itself; for other values one without fields. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

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

/** Epoch milliseconds. `null` for other values, and for times that a DateTime does not have. */
export function timeOf(value: unknown): number | null {
  const time = integerOf(value);
  return time !== null && time >= 0 && isDateTime(time) ? time : null;
}

/** An integer that an Int of the graph has. `null` for other values. */
export function intOf(value: unknown): number | null {
  const integer = integerOf(value);
  return integer !== null && Math.abs(integer) <= MAX_INT ? integer : null;
}

/** A number of things, limited to what an Int of the graph has. `null` for other values. */
export function countOf(value: unknown): number | null {
  const count = integerOf(value);
  return count === null || count < 0 ? null : Math.min(count, MAX_INT);
}

const MAX_INT = 2_147_483_647;

/** The list in a field of response data; empty if there is none. */
export function listIn(data: unknown, name: string): readonly unknown[] {
  const list = isFields(data) ? fieldOf(data, name) : undefined;
  return Array.isArray(list) ? list : [];
}
