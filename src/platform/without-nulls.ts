/** An input of the graph: every value may be absent or null. */
export type Nullish<T> = { readonly [Key in keyof T]?: T[Key] | null | undefined };

/** The values of an input that are neither absent nor null. */
export const withoutNulls = <T extends object>(input: T): { [Key in keyof T]?: NonNullable<T[Key]> } =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value != null)) as {
    [Key in keyof T]?: NonNullable<T[Key]>;
  };
