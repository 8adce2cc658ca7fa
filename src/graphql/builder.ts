import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { type ProjectRole, type RequiredRole, requireProjectRole, requireRootAdmin, requireSignedIn } from '../auth/viewer.ts';
import type { RequestContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type PrismaTypes from '../generated/pothos.ts';
import { getDatamodel } from '../generated/pothos.ts';

/** Scopes throw what the caller shall see (401, 403 or 404), so "false" never has to be explained afterwards. */
interface AuthScopes {
  signedIn: boolean;
  rootAdmin: boolean;
  projectRole: { readonly projectId: string; readonly role: ProjectRole };
}

export const builder = new SchemaBuilder<{
  Context: RequestContext;
  PrismaTypes: PrismaTypes;
  AuthScopes: AuthScopes;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
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
      rootAdmin: () => requireRootAdmin(viewer) !== null,
      projectRole: ({ projectId, role }) => requireProjectRole(viewer, projectId, role) !== null,
    }),
  },
  relay: { nodesOnConnection: true },
  prisma: { client: ({ db }) => db, dmmf: getDatamodel(), onUnusedQuery: 'error' },
  complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
});

/** What a field asks of its caller, in words that tests and generated documents can read: `extensions.requires`. */
export const requires = (role: RequiredRole) => ({ extensions: { requires: role } });
