import type { Schema } from './schema.ts';

/** The catalogue of descriptions of the service, by their English text. English has none. */
export const HINTS = 'bridges/hint';

/** A schema with its descriptions in another language. One that is newer than the console remains in English. */
export const translated = (schema: Schema, texts: Readonly<Record<string, string>> = {}): Schema =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'description' && typeof value === 'string' ? (texts[value] ?? value) : value,
  );
