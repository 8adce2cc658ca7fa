import {
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  isInterfaceType,
  isObjectType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { apiRoutes } from '../../../src/app/api-routes.ts';
import { schema } from '../../../src/app/schema.ts';
import type { Requirement } from '../../../src/gateway/graphql/builder.ts';
import type { Route } from '../../../src/gateway/rest/route.ts';
import { roleOf } from '../../../src/gateway/rest/route-role.ts';
import { PROJECT_ROLES, type ProjectRole } from '../../../src/platform/auth/viewer.ts';

// What everybody gets who asks for anything: computed from what fields and routes declare, and from nothing else.

/** Statuses of refusals that are no matter of rights: wrong passwords and codes. */
export const OWN_REFUSALS: Readonly<Record<string, number>> = {
  login: 401,
  completeSignIn: 401,
  acceptInvitation: 401,
  confirmSecondFactor: 403,
  removeSecondFactor: 403,
};

export type Field = GraphQLField<unknown, unknown>;
export type RootKind = 'query' | 'mutation' | 'subscription';

export interface Caller {
  /** For people. */
  readonly title: string;
  readonly kind: 'NOBODY' | 'PERSON' | 'TOKEN' | 'ENDED';
  /** In the project that is asked about. */
  readonly role?: ProjectRole;
  readonly isRoot?: true;
  /** A token for another broker of the project. */
  readonly isElsewhere?: true;
}

export const CALLERS = {
  nobody: { title: 'no credentials', kind: 'NOBODY' },
  stranger: { title: 'no role', kind: 'PERSON' },
  viewer: { title: 'viewer', kind: 'PERSON', role: 'VIEWER' },
  editor: { title: 'editor', kind: 'PERSON', role: 'EDITOR' },
  admin: { title: 'admin', kind: 'PERSON', role: 'ADMIN' },
  root: { title: 'root', kind: 'PERSON', role: 'ADMIN', isRoot: true },
  viewerToken: { title: 'viewer token', kind: 'TOKEN', role: 'VIEWER' },
  editorToken: { title: 'editor token', kind: 'TOKEN', role: 'EDITOR' },
  adminToken: { title: 'admin token', kind: 'TOKEN', role: 'ADMIN' },
  otherToken: { title: 'token elsewhere', kind: 'TOKEN', role: 'ADMIN', isElsewhere: true },
  expiredToken: { title: 'expired token', kind: 'ENDED' },
  revokedToken: { title: 'revoked token', kind: 'ENDED' },
} as const satisfies Record<string, Caller>;

export type CallerName = keyof typeof CALLERS;
export const CALLER_NAMES = Object.keys(CALLERS) as CallerName[];

/** Null: let in. Else the status that refuses. */
export type Refusal = 401 | 403 | 404 | null;

const includes = (held: ProjectRole, needed: ProjectRole) =>
  PROJECT_ROLES.indexOf(held) >= PROJECT_ROLES.indexOf(needed);

/** For a change of rights on `$CONTROL/`. */
export const controlRefusalOf = (requirement: Requirement, caller: Caller): Refusal =>
  refusalOf({ ...requirement, requires: requirement.requiresForControl ?? requirement.requires }, caller);

export function refusalOf(requirement: Requirement, caller: Caller, isStrict = false): Refusal {
  const { requires, requiresIfStrict, byTokens = true, elsewhere } = requirement;
  if (caller.kind === 'ENDED') return 401;
  if (requires === 'PUBLIC') return null;
  if (caller.kind === 'NOBODY') return 401;
  if (requires === 'SIGNED_IN') return null;
  if (requires === 'PERSON') return caller.kind === 'PERSON' ? null : 403;
  if (requires === 'ROOT_ADMIN') return caller.isRoot ? null : 403;
  if (caller.role === undefined) return 404;
  if (caller.isElsewhere && elsewhere !== undefined) return elsewhere === 'NOT_FOUND' ? 404 : 403;
  if (!includes(caller.role, (isStrict && requiresIfStrict) || requires)) return 403;
  return caller.kind === 'TOKEN' && !byTokens ? 403 : null;
}

export const requirementOf = (field: Field): Requirement | null =>
  field.extensions.requires === undefined ? null : (field.extensions as unknown as Requirement);

const rootType = (kind: RootKind) =>
  ({ query: schema.getQueryType(), mutation: schema.getMutationType(), subscription: schema.getSubscriptionType() })[
    kind
  ];

export const rootFields = (kind: RootKind): Field[] => Object.values(rootType(kind)?.getFields() ?? {});

/** Fields within the graph that ask for more than what led to them. */
export interface InnerField {
  readonly parent: GraphQLObjectType | GraphQLInterfaceType;
  readonly field: Field;
}

export function innerFields(): InnerField[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return Object.values(schema.getTypeMap()).flatMap((parent) => {
    if (!(isObjectType(parent) || isInterfaceType(parent)) || roots.includes(parent as GraphQLObjectType)) return [];
    // Fields of an interface have their requirement there.
    const inherited = new Set(parent.getInterfaces().flatMap((one) => Object.keys(one.getFields())));
    return Object.values(parent.getFields())
      .filter((field) => requirementOf(field) !== null && !inherited.has(field.name))
      .map((field) => ({ parent, field }));
  });
}

/** A route is checked by its path first, then by the fields of its operation from the outside to the inside. */
export function routeRequirement(route: Route): Requirement {
  const declared = declaredIn(route);
  const isOfOne = /\{(broker|cluster)Id\}/.test(route.path);
  const requiresIfStrict = declared.find((one) => one.requiresIfStrict)?.requiresIfStrict;
  const requiresForControl = declared.find((one) => one.requiresForControl)?.requiresForControl;
  const elsewhere = isOfOne ? 'NOT_FOUND' : declared.find((one) => one.elsewhere)?.elsewhere;
  return {
    requires: roleOf(route, schema),
    byTokens: declared.every(({ byTokens = true }) => byTokens),
    ...(requiresIfStrict ? { requiresIfStrict } : {}),
    ...(requiresForControl ? { requiresForControl } : {}),
    ...(elsewhere ? { elsewhere } : {}),
  };
}

function declaredIn({ operation }: Route): Requirement[] {
  const types = new TypeInfo(schema);
  const found: Requirement[] = [];
  const Field = () => {
    const field = types.getFieldDef();
    const requirement = field ? requirementOf(field as Field) : null;
    if (requirement !== null) found.push(requirement);
  };
  visit(parse(operation), visitWithTypeInfo(types, { Field }));
  return found;
}

export const routes: readonly Route[] = apiRoutes;
