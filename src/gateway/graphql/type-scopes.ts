import { hasRole, type ProjectRole, seesBroker, seesWholeProject } from '../../platform/auth/viewer.ts';
import type { RequestContext } from '../context.ts';

/** Scopes with the id of the project or broker in which the caller must have the role. Errors: those of `visible`. */
export interface RoleScopes {
  viewerOf: string;
  editorOf: string;
  adminOf: string;
}

const SCOPES = { VIEWER: 'viewerOf', EDITOR: 'editorOf', ADMIN: 'adminOf' } as const satisfies Record<
  ProjectRole,
  keyof RoleScopes
>;

/** In the `extensions` of a type. */
export interface TypeScope {
  readonly role: ProjectRole;
  /** Whether the scope allows a value. It is called before scope-auth, whose caches cost 10 µs per request. */
  readonly allows: (value: unknown, context: RequestContext) => boolean;
}

/** For fields whose resolver only reads the property of the same name, so that compiled code may read it. */
export const PLAIN = { extensions: { isPlain: true } } as const;

/** The ids that decide which callers may see a broker. */
interface BrokerIds {
  readonly id: string;
  readonly projectId: string;
}

/** Options of a type whose values belong to a project: no path of the graph leads to a value without the role. */
export const belongsToProject = <Value>(projectIdOf: (value: Value) => string, role: ProjectRole = 'VIEWER') =>
  declared<Value>(
    role,
    projectIdOf,
    (value, { viewer }) => viewer !== null && hasRole(viewer, projectIdOf(value), role),
  );

/** Options of a type whose values belong to a broker: the role in its project, and no token for other brokers. */
export const belongsToBroker = <Value>(brokerOf: (value: Value) => string | BrokerIds, role: ProjectRole = 'VIEWER') =>
  declared<Value>(
    role,
    (value) => {
      const broker = brokerOf(value);
      return typeof broker === 'string' ? broker : broker.id;
    },
    (value, { viewer, services }) => {
      if (viewer === null) return false;
      const known = brokerOf(value);
      const broker = typeof known === 'string' ? services.brokers.seen(known, viewer) : known;
      return broker !== null && seesBroker(viewer, broker, role);
    },
  );

/** `belongsToBroker` for values that have their broker. */
export const withBroker = belongsToBroker(({ broker }: { readonly broker: BrokerIds }) => broker);

interface Owner {
  readonly projectId: string | null;
  readonly brokerId: string | null;
}

/**
 * Options of a type whose values belong to a broker, to the whole of a project, which tokens that are restricted to
 * brokers do not see, or to the service, for root administrators.
 */
export const belongsToOwner = declared<Owner>(
  'VIEWER',
  ({ brokerId }) => brokerId ?? '',
  ({ brokerId, projectId }, { viewer }) => {
    if (viewer === null || projectId === null) return viewer?.isRootAdmin === true;
    if (brokerId !== null) return seesBroker(viewer, { id: brokerId, projectId });
    return seesWholeProject(viewer, projectId);
  },
);

function declared<Value>(
  role: ProjectRole,
  ownerOf: (value: Value) => string,
  allows: (value: Value, context: RequestContext) => boolean,
) {
  return {
    authScopes: (value: Value, context: RequestContext): Partial<RoleScopes> | true =>
      allows(value, context) || { [SCOPES[role]]: ownerOf(value) },
    extensions: { scope: { role, allows: allows as TypeScope['allows'] } satisfies TypeScope },
  };
}
