import { type GraphQLSchema, parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { PROJECT_ROLES, type RequiredRole } from '../../platform/auth/viewer.ts';
import type { Route } from './route.ts';

/** A role that another one exceeds comes first. */
const ROLES: readonly RequiredRole[] = ['PUBLIC', 'SIGNED_IN', 'PERSON', ...PROJECT_ROLES, 'ROOT_ADMIN'];

/**
 * The role that `authorize` checks before the input is read: the highest that the fields of the operation declare. A
 * root field without a declaration requires credentials, as in the graph.
 */
export function roleOf({ operation }: Route, schema: GraphQLSchema): RequiredRole {
  const types = new TypeInfo(schema);
  const roots = [schema.getQueryType(), schema.getMutationType()];
  let highest = 0;
  const Field = () => {
    const isRoot = roots.some((root) => root === types.getParentType());
    const declared = types.getFieldDef()?.extensions.requires ?? (isRoot ? 'SIGNED_IN' : 'PUBLIC');
    highest = Math.max(highest, ROLES.indexOf(declared as RequiredRole));
  };
  visit(parse(operation), visitWithTypeInfo(types, { Field }));
  return ROLES[highest] ?? 'ROOT_ADMIN';
}
