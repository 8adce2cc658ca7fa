import { invalid } from '../errors.ts';
import { byCodeUnits } from './by-code-units.ts';

export interface ListOrder<Field extends string> {
  readonly field: Field;
  readonly direction: 'asc' | 'desc';
}

/** Where an entry is in an order. Entries with equal values are in the order of their keys. `null`: unknown, last. */
export interface Place {
  readonly value: string | number | null;
  readonly key: string;
}

export const comparison =
  (direction: ListOrder<string>['direction'], compareKeys = byCodeUnits) =>
  (a: Place, b: Place): number => {
    if (a.value === b.value) return compareKeys(a.key, b.key);
    if (a.value === null) return 1;
    if (b.value === null) return -1;
    return a.value < b.value === (direction === 'asc') ? -1 : 1;
  };

/** A cursor has the place of its entry, so it stays valid if the entry changes or no longer exists. */
export const cursorOf = ({ value, key }: Place, { field, direction }: ListOrder<string>): string =>
  Buffer.from(JSON.stringify([field, direction, value, key])).toString('base64url');

/** Errors: INVALID for a cursor of another order, with the `path` of its argument. */
export function placeIn(cursor: string, order: ListOrder<string>, path = 'after'): Place {
  const parts = parsed(Buffer.from(cursor, 'base64url').toString());
  const [field, direction, value, key] = Array.isArray(parts) ? parts : [];
  const isValue = value === null || typeof value === 'string' || typeof value === 'number';
  const isOfOrder = field === order.field && direction === order.direction;
  if (isOfOrder && isValue && typeof key === 'string') return { value, key };
  throw invalid([{ path, reason: 'is not a cursor of this list in this order' }]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
