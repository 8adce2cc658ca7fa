import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import type PrismaTypes from '../../generated/pothos.ts';
import { getDatamodel } from '../../generated/pothos.ts';
import {
  type ProjectRole,
  type RequiredRole,
  requireAccount,
  requireKnown,
  requireNoToken,
  requirePerson,
  requireRootAdmin,
  requireSignedIn,
  requireWholeProject,
} from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { kindOfId } from '../../platform/ids.ts';
import { DEFAULT_PAGE, MAX_PAGE } from '../../platform/paging.ts';
import type { RequestContext } from '../context.ts';
import { COUNTED_BY_PAGE } from './page-cost.ts';
import { PLAIN, type RoleScopes } from './type-scopes.ts';

/** Scopes throw the error for the caller (401, 403 or 404) instead of returning false. */
interface AuthScopes extends RoleScopes {
  known: boolean;
  signedIn: boolean;
  account: boolean;
  person: boolean;
  rootAdmin: boolean;
}

const PAGE_BOUNDS = `0 to ${MAX_PAGE.toLocaleString('en')}, unless the list describes other bounds`;

export const builder = new SchemaBuilder<{
  Context: RequestContext;
  PrismaTypes: PrismaTypes;
  AuthScopes: AuthScopes;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date | string };
    JSON: { Input: unknown; Output: unknown };
    SafeInt: { Input: number; Output: number };
  };
}>({
  plugins: [ScopeAuthPlugin, ComplexityPlugin, RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authorizeOnSubscribe: true,
    // Once per object instead of once per field. `compiled-scopes.ts` does it for compiled operations.
    runScopesOnType: true,
    treatErrorsAsUnauthorized: false,
    unauthorizedError: () => new ServiceError('NOT_ALLOWED', 'Not allowed'),
    authScopes: (context) => {
      // Not the viewer of the first check: a mutation may replace it, for its payload.
      const roleIn = (role: ProjectRole) => (id: string) => {
        const { brokers, projects, audit } = context.services;
        const isBroker = kindOfId(id) === 'broker';
        try {
          return (isBroker ? brokers : projects).visible(id, context.viewer, role) !== null;
        } catch (error) {
          audit.refusedRead({ operation: isBroker ? 'broker' : 'project', input: { id }, owner: null }, context, error);
          throw error;
        }
      };
      return {
        known: () => requireKnown(context.viewer) !== null,
        signedIn: () => requireSignedIn(context.viewer) !== null,
        account: () => requireAccount(context.viewer) !== null,
        person: () => requirePerson(context.viewer) !== null,
        rootAdmin: () => requireRootAdmin(context.viewer) !== null,
        viewerOf: roleIn('VIEWER'),
        editorOf: roleIn('EDITOR'),
        adminOf: roleIn('ADMIN'),
      };
    },
  },
  // Ids are not encoded: they have a kind prefix and are the same in REST and GraphQL.
  relay: {
    nodesOnConnection: { description: 'Entries of the page without cursors.', complexity: COUNTED_BY_PAGE },
    edgesFieldOptions: {
      description: 'Entries of the page with their cursors.',
      complexity: COUNTED_BY_PAGE,
      ...PLAIN,
    },
    nodeFieldOptions: { description: 'The entry.', ...PLAIN },
    cursorFieldOptions: { description: 'Position of the entry in the list, for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Information about further pages.', ...PLAIN },
    pageInfoTypeOptions: { description: 'The position of a page in its list.' },
    defaultEdgeTypeOptions: { description: 'An entry of a page with its cursor.' },
    hasNextPageFieldOptions: { description: 'Whether there are entries after the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there are entries before the page.' },
    startCursorFieldOptions: { description: 'Cursor of the first entry; `null` if the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last entry; `null` if the page is empty.' },
    firstArgOptions: {
      description: `Maximum number of entries, from the start of the list: ${PAGE_BOUNDS}. Default: ${DEFAULT_PAGE} if \`last\` is absent.`,
    },
    afterArgOptions: { description: 'Returns only entries after this cursor.' },
    lastArgOptions: { description: `Maximum number of entries, from the end of the list: ${PAGE_BOUNDS}.` },
    beforeArgOptions: { description: 'Returns only entries before this cursor.' },
    encodeGlobalID: (_typename, id) => String(id),
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
  prisma: { client: ({ db }) => db, dmmf: getDatamodel(), onUnusedQuery: 'error' },
  complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
});

type Types = (typeof builder)['$inferSchemaTypes'];
export type InputRef<Shape> = PothosSchemaTypes.InputObjectRef<Types, Shape>;
export type InputFields = PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>;
export type OutputFields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<Types, Parent>;

/** Permission that a field requires, in its `extensions`, which tests and generated documents read. */
export interface Requirement {
  readonly requires: RequiredRole;
  /** Role in projects with `hasStrictRoles`. Default: `requires`. */
  readonly requiresIfStrict?: ProjectRole;
  /** Role for changes of access rules on `$CONTROL/` topics. Default: `requires`. */
  readonly requiresForControl?: ProjectRole;
  /** Whether project tokens are allowed. Default: true. */
  readonly byTokens?: boolean;
  /** Error for tokens that are restricted to other brokers. Default: none, their role decides. */
  readonly elsewhere?: 'NOT_FOUND' | 'NOT_ALLOWED';
}

export const requires = (role: RequiredRole, more: Omit<Requirement, 'requires'> = {}) => ({
  extensions: { requires: role, ...more } satisfies Requirement,
});

interface Target {
  readonly projectId?: string | null | undefined;
  readonly brokerId?: string | undefined;
  readonly input?: Target;
}

export const open = { skipTypeScopes: true, ...requires('PUBLIC') } as const;

export const signedIn = { authScopes: { signedIn: true }, ...requires('SIGNED_IN') } as const;

export const person = { authScopes: { person: true }, ...requires('PERSON') } as const;

/** Also for callers who have yet to set up a second factor. */
export const known = { skipTypeScopes: true, authScopes: { known: true }, ...requires('SIGNED_IN') } as const;
export const account = { skipTypeScopes: true, authScopes: { account: true }, ...requires('PERSON') } as const;

export const rootAdmin = { authScopes: { rootAdmin: true }, ...requires('ROOT_ADMIN') } as const;

/**
 * For root fields with `projectId` (or `input.projectId`): requires the role in that project. Roles above VIEWER are
 * not allowed for tokens that are restricted to brokers; with `byTokens: false` no token is allowed.
 */
export const inProject = (role: ProjectRole, { byTokens = true }: Pick<Requirement, 'byTokens'> = {}) => ({
  authScopes: (_parent: unknown, args: Target, { viewer, services }: RequestContext) => {
    services.projects.visible(args.projectId ?? args.input?.projectId ?? '', viewer, role);
    if (viewer !== null && role !== 'VIEWER') requireWholeProject(viewer);
    if (viewer !== null && !byTokens) requireNoToken(viewer);
    return true;
  },
  ...requires(role, { byTokens, ...(role === 'VIEWER' ? {} : { elsewhere: 'NOT_ALLOWED' }) }),
});

/** For root fields with `brokerId` (or `input.brokerId`): requires the role in the broker's project. */
export const onBroker = (role: ProjectRole) => ({
  authScopes: (_parent: unknown, args: Target, { viewer, services }: RequestContext) => {
    const { brokerId = '', projectId } = args.input ?? args;
    services.brokers.visible(brokerId, viewer, role, projectId);
    return true;
  },
  ...requires(role, { elsewhere: 'NOT_FOUND' }),
});

interface WriteTarget extends Target {
  readonly dryRun?: boolean | null | undefined;
  readonly input?: WriteTarget;
}

/**
 * For root fields that change the configuration of a broker. They require VIEWER, as the REST interface documents it,
 * and EDITOR in projects with `hasStrictRoles` unless it is a dry run.
 */
export const writesOnBroker = {
  authScopes: (_parent: unknown, args: WriteTarget, { viewer, services }: RequestContext) => {
    const { brokerId = '', projectId, dryRun } = args.input ?? args;
    const broker = services.brokers.visible(brokerId, viewer, 'VIEWER', projectId);
    if (dryRun !== true && services.projects.visible(broker.projectId, viewer).strictRoles) {
      services.brokers.visible(brokerId, viewer, 'EDITOR', projectId);
    }
    return true;
  },
  ...requires('VIEWER', { requiresIfStrict: 'EDITOR', elsewhere: 'NOT_FOUND' }),
} as const;

/** For root fields that can change access rules on `$CONTROL/` topics, which requires ADMIN: the service checks it. */
export const writesAccessControl = {
  ...writesOnBroker,
  extensions: { ...writesOnBroker.extensions, requiresForControl: 'ADMIN' } satisfies Requirement,
} as const;

/** The service checks the caller. Skips the scope cache, whose WeakMap costs more than a list of 50 entries. */
export const checkedByService = (role: ProjectRole, more: Omit<Requirement, 'requires'> = {}) =>
  ({ skipTypeScopes: true, ...requires(role, more) }) as const;
