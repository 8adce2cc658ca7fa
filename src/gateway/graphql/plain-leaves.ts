import {
  type GraphQLField,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLOutputType,
  GraphQLString,
  getNamedType,
  isListType,
  isNonNullType,
} from 'graphql';

/**
 * Calls `work` while fields of the named scalars have the type String, whose values the compiler returns unchanged.
 * JSON.stringify converts a Date to the same text as the scalar DateTime.
 */
export function withPlainScalars<T>(
  fields: Iterable<GraphQLField<unknown, unknown>>,
  scalars: readonly string[],
  work: () => T,
): T {
  const swapped = [...fields]
    .filter(({ type }) => scalars.includes(getNamedType(type).name))
    .map((field) => ({ field, type: field.type }));
  for (const { field, type } of swapped) field.type = asString(type);
  try {
    return work();
  } finally {
    for (const { field, type } of swapped) field.type = type;
  }
}

function asString(type: GraphQLOutputType): GraphQLOutputType {
  if (isNonNullType(type)) return new GraphQLNonNull(asString(type.ofType));
  return isListType(type) ? new GraphQLList(asString(type.ofType)) : GraphQLString;
}
