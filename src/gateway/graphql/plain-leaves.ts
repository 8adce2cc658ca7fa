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
 * Does work while fields of the named scalars are of a scalar that the compiler passes on as it is. For results that nobody
 * but JSON.stringify reads: a Date becomes the same text there as by its scalar, and JSON is itself.
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
