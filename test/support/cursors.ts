import { cursorOf } from '../../src/platform/sorting/places.ts';

/** The key of the entry of a cursor: a name, a topic or an id. */
export const keyIn = (cursor: string | null | undefined): string =>
  JSON.parse(Buffer.from(cursor ?? '', 'base64url').toString())[3];

/** Cursor of an entry of a list without a sort value. */
export const cursorAt = (kind: string, key: string, direction: 'asc' | 'desc' = 'asc'): string =>
  cursorOf({ value: null, key }, { field: kind, direction });
