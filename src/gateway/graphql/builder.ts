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
  requireNoToken,
  requirePerson,
  requireRootAdmin,
  requireSignedIn,
  requireWholeProject,
} from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import { COUNTED_BY_PAGE } from './page-cost.ts';

/** Scopes throw what the caller shall see (401, 403 or 404), so "false" never has to be explained afterwards. */
interface AuthScopes {
  signedIn: boolean;
  person: boolean;
  rootAdmin: boolean;
}

export const builder = new SchemaBuilder<{
  Context: RequestContext;
  PrismaTypes: PrismaTypes;
  AuthScopes: AuthScopes;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date | string };
    JSON: { Input: unknown; Output: unknown };
  };
}>({
  plugins: [ScopeAuthPlugin, ComplexityPlugin, RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authorizeOnSubscribe: true,
    treatErrorsAsUnauthorized: false,
    unauthorizedError: () => new ServiceError('NOT_ALLOWED', 'Not allowed'),
    authScopes: ({ viewer }) => ({
      signedIn: () => requireSignedIn(viewer) !== null,
      person: () => requirePerson(viewer) !== null,
      rootAdmin: () => requireRootAdmin(viewer) !== null,
    }),
  },
  // Ids are the same in REST and GraphQL and carry their kind, so nothing is encoded.
  relay: {
    nodesOnConnection: { description: 'The entries of the page alone.', complexity: COUNTED_BY_PAGE },
    edgesFieldOptions: { description: 'The entries of the page with their places.', complexity: COUNTED_BY_PAGE },
    nodeFieldOptions: { description: 'The entry itself.' },
    cursorFieldOptions: { description: 'Its place in the list, for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Whether there is more.' },
    hasNextPageFieldOptions: { description: 'There are entries after the page.' },
    hasPreviousPageFieldOptions: { description: 'There are entries before the page.' },
    startCursorFieldOptions: { description: 'Of the first entry; null: the page is empty.' },
    endCursorFieldOptions: { description: 'Of the last entry; null: the page is empty.' },
    firstArgOptions: { description: 'So many entries at most, from the start.' },
    afterArgOptions: { description: 'Only entries after this cursor.' },
    lastArgOptions: { description: 'So many entries at most, from the end.' },
    beforeArgOptions: { description: 'Only entries before this cursor.' },
    encodeGlobalID: (_typename, id) => String(id),
    nodeQueryOptions: false,
    nodesQueryOptions: false,
  },
  prisma: { client: ({ db }) => db, dmmf: getDatamodel(), onUnusedQuery: 'error' },
  complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
});

/** What a field asks of its caller, in words that tests and generated documents can read: `extensions` of the field. */
export interface Requirement {
  readonly requires: RequiredRole;
  /** In projects with `strictRoles`. Default: the same. */
  readonly requiresIfStrict?: ProjectRole;
  /** For changes of rights on `$CONTROL/` of a broker. Default: the same. */
  readonly requiresForControl?: ProjectRole;
  /** False: not for project tokens, whatever their role. Default: true. */
  readonly byTokens?: boolean;
  /** What tokens get that are restricted to brokers which it is not about. Default: as others of their role. */
  readonly elsewhere?: 'NOT_FOUND' | 'NOT_ALLOWED';
}

export const requires = (role: RequiredRole, more: Omit<Requirement, 'requires'> = {}) => ({
  extensions: { requires: role, ...more } satisfies Requirement,
});

/** Arguments of fields that touch one project or one broker, by the names they always have. */
interface Target {
  readonly projectId?: string | null | undefined;
  readonly brokerId?: string | undefined;
  readonly input?: Target;
}

/** For fields that anybody may ask. */
export const open = { skipTypeScopes: true, ...requires('PUBLIC') } as const;

export const signedIn = { authScopes: { signedIn: true }, ...requires('SIGNED_IN') } as const;

/** For people who have signed in, and not for project tokens. */
export const person = { authScopes: { person: true }, ...requires('PERSON') } as const;

export const rootAdmin = { authScopes: { rootAdmin: true }, ...requires('ROOT_ADMIN') } as const;

/**
 * For root fields with `projectId` (or `input.projectId`): the role in that project; a project out of sight is NOT_FOUND. What needs
 * more than VIEWER changes the project, which a token restricted to brokers may not; with `byTokens: false` no token may.
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

/**
 * For root fields with `brokerId` (or `input.brokerId`): the role in the broker's project. A broker out of sight, or outside the
 * `projectId` beside it, is NOT_FOUND.
 */
export const onBroker = (role: ProjectRole) => ({
  authScopes: (_parent: unknown, args: Target, { viewer, services }: RequestContext) => {
    const { brokerId = '', projectId } = args.input ?? args;
    services.brokers.visible(brokerId, viewer, role, projectId);
    return true;
  },
  ...requires(role, { elsewhere: 'NOT_FOUND' }),
});

/** A field that takes `dryRun` sends nothing then, and tells nothing but what a viewer may read. */
interface WriteTarget extends Target {
  readonly dryRun?: boolean | null | undefined;
  readonly input?: WriteTarget;
}

/**
 * For root fields that change what a broker holds: VIEWER, as the REST interface documents it, and EDITOR in projects with
 * `strictRoles` for what is no dry run. Arguments as for `onBroker`.
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

/**
 * As `writesOnBroker`, for root fields that can change rights on `$CONTROL/`. Those changes require ADMIN, which is decided by the
 * service that carries them out.
 */
export const writesAccessControl = {
  ...writesOnBroker,
  extensions: { ...writesOnBroker.extensions, requiresForControl: 'ADMIN' } satisfies Requirement,
} as const;

/**
 * For root fields whose resolver asks a service that checks the caller itself. Leaves out the scopes' cache for each request, whose
 * weak map costs more than a list of 50 entries.
 */
export const checkedByService = (role: ProjectRole, more: Omit<Requirement, 'requires'> = {}) =>
  ({ skipTypeScopes: true, ...requires(role, more) }) as const;
