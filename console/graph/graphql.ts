import { initGraphQLTada } from 'gql.tada';
import type { introspection } from '../../src/generated/graph.d.ts';

/** Operations with the types of their variables and results, from schema.graphql. */
export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { DateTime: string; JSON: unknown; SafeInt: number };
}>();

export type { ResultOf, VariablesOf } from 'gql.tada';
