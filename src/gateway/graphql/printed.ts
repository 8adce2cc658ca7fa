import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';

/** The text of `schema.graphql`. It is sorted, so that it does not depend on the order of source files. */
export function printedSchema(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
