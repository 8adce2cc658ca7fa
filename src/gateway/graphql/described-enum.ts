import { builder } from './builder.ts';

/** An enum whose values are their names. `values` has the description of each. */
export const describedEnum = <Name extends string>(
  name: string,
  description: string,
  values: Readonly<Record<Name, string>>,
) => {
  const entries = Object.entries<string>(values).map(([value, text]) => [value, { description: text }]);
  // `fromEntries` does not keep the names.
  const described: Readonly<Record<Name, { readonly description: string }>> = Object.fromEntries(entries);
  return builder.enumType(name, { description, values: described });
};
