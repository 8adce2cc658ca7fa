import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';

/** The schema as `schema.graphql` has it: sorted, so that the order of the sources does not matter. */
export function printedSchema(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
