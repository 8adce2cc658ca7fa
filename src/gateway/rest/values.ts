/** Functions for `Route.values`. */
export type DocumentedValue = (value: unknown) => unknown;

/** For a key that the graph does not have. The operation selects it as `key: __typename`, which sets its place. */
export const constant =
  (value: unknown): DocumentedValue =>
  () =>
    value;

/** For a DateTime of the graph. `missing` is written for null. */
export const epochMs =
  (missing: number | null = null): DocumentedValue =>
  (value) => {
    if (value === null) return missing;
    return value instanceof Date ? value.getTime() : Date.parse(String(value));
  };
