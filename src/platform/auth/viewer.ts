import { ServiceError } from '../errors.ts';

/** Project roles, lowest first. A higher role includes the lower ones. */
export const PROJECT_ROLES = ['VIEWER', 'EDITOR', 'ADMIN'] as const;
export type ProjectRole = (typeof PROJECT_ROLES)[number];

/** A role in the project of the operation, or in the whole service. PERSON: a signed-in user, not a project token. */
export type RequiredRole = ProjectRole | 'PUBLIC' | 'SIGNED_IN' | 'PERSON' | 'ROOT_ADMIN';

export const roleIncludes = (held: ProjectRole, needed: ProjectRole): boolean =>
  PROJECT_ROLES.indexOf(held) >= PROJECT_ROLES.indexOf(needed);

/** The caller of a request; OPERATOR: at the command line of this machine. A change of rights creates a new object. */
export interface Viewer {
  readonly kind: 'USER' | 'TOKEN' | 'OPERATOR';
  readonly id: string;
  /** The e-mail address of the user, or the name of the token. Used in messages, in the audit and as `issuer`. */
  readonly name: string;
  readonly issuer?: string;
  /** Identifies the session or the secret of the token, so that revoking it ends its operations. */
  readonly credentialId: string;
  /** Epoch milliseconds. Infinity for a token without an end. */
  readonly expiresAt: number;
  /** Whether the caller has the role ADMIN in every project. */
  readonly isRootAdmin: boolean;
  /** Roles by project id, without the implied roles of a root administrator. */
  readonly projectRoles: ReadonlyMap<string, ProjectRole>;
  /** The visible brokers of a restricted token. `null` if all brokers of the projects are visible. */
  readonly brokers: ReadonlySet<string> | null;
  /** The account requires a second factor and has none. The caller has no roles, and may only set one up. */
  readonly isSecondFactorMissing?: boolean;
}

const rightsKeys = new WeakMap<Viewer, string>();

/**
 * Equal for viewers with equal rights, so that one result may be sent to all. A viewer that is restricted to brokers
 * has a unique key, because lists of tokens show it only its own token.
 */
export function rightsKey(viewer: Viewer): string {
  const known = rightsKeys.get(viewer);
  if (known !== undefined) return known;
  const { kind, id, isRootAdmin, projectRoles, brokers } = viewer;
  const roles = [...projectRoles].sort(([a], [b]) => (a < b ? -1 : 1));
  const key = JSON.stringify([kind, isRootAdmin, roles, brokers === null ? null : [id, ...[...brokers].sort()]]);
  rightsKeys.set(viewer, key);
  return key;
}

const sharedViewers = new WeakMap<Viewer, Viewer>();

/**
 * A viewer with the same rights and without an identity, for results that all viewers with the same `rightsKey` get. It
 * does not expire: the guard of each receiver does. A restricted viewer is returned unchanged.
 */
export function sharedViewer(viewer: Viewer): Viewer {
  if (viewer.brokers !== null) return viewer;
  const known = sharedViewers.get(viewer);
  if (known !== undefined) return known;
  const shared = { ...viewer, id: '', name: '', credentialId: '', expiresAt: Number.POSITIVE_INFINITY };
  sharedViewers.set(viewer, shared);
  return shared;
}

export function roleIn(viewer: Viewer, projectId: string): ProjectRole | null {
  return viewer.isRootAdmin ? 'ADMIN' : (viewer.projectRoles.get(projectId) ?? null);
}

/** Such access makes an account an administrator of the broker. */
export const mayControl = (viewer: Viewer | null, { projectId }: { readonly projectId: string }): boolean =>
  viewer !== null && roleIn(viewer, projectId) === 'ADMIN';

export function hasRole(viewer: Viewer, projectId: string, needed: ProjectRole): boolean {
  const held = roleIn(viewer, projectId);
  return held !== null && (needed === 'VIEWER' || roleIncludes(held, needed));
}

export function seesBroker(
  viewer: Viewer,
  broker: { readonly id: string; readonly projectId: string },
  needed: ProjectRole = 'VIEWER',
): boolean {
  return hasRole(viewer, broker.projectId, needed) && (viewer.brokers === null || viewer.brokers.has(broker.id));
}

/** For the few operations of callers who have yet to set up a second factor. */
export function requireKnown(viewer: Viewer | null): Viewer {
  if (viewer === null) throw new ServiceError('UNAUTHORIZED', 'Sign in, or send a token: Authorization: Bearer …');
  if (viewer.expiresAt <= Date.now()) throw new ServiceError('UNAUTHORIZED', 'The session or token has expired');
  return viewer;
}

export function requireSignedIn(viewer: Viewer | null): Viewer {
  const known = requireKnown(viewer);
  if (known.isSecondFactorMissing) {
    throw new ServiceError('NOT_ALLOWED', 'Your account requires a second factor; set it up first');
  }
  return known;
}

export const requirePerson = (viewer: Viewer | null): Viewer => personOf(requireSignedIn(viewer));

/** A user, also one who has yet to set up a second factor. */
export const requireAccount = (viewer: Viewer | null): Viewer => personOf(requireKnown(viewer));

function personOf(viewer: Viewer): Viewer {
  if (viewer.kind === 'USER') return viewer;
  throw new ServiceError('NOT_ALLOWED', 'This requires a signed-in user; project tokens are not allowed');
}

export function requireRootAdmin(viewer: Viewer | null): Viewer {
  const known = requireSignedIn(viewer);
  if (!known.isRootAdmin) throw new ServiceError('NOT_ALLOWED', 'This requires a root administrator');
  return known;
}

/** For operations on a whole project, which tokens that are restricted to brokers may not use. */
export function requireWholeProject(viewer: Viewer): void {
  if (viewer.brokers === null) return;
  throw new ServiceError(
    'NOT_ALLOWED',
    'This requires access to the whole project; the token is restricted to some of its brokers',
  );
}

/** Whether the viewer has the role in a project, and no token that is restricted to some of its brokers. */
export const seesWholeProject = (viewer: Viewer | null, projectId: string, needed: ProjectRole = 'VIEWER'): boolean =>
  viewer !== null && viewer.brokers === null && hasRole(viewer, projectId, needed);

/** The holder of a token must not create credentials that outlive the token. */
export function requireNoToken(viewer: Viewer): void {
  if (viewer.kind !== 'TOKEN') return;
  throw new ServiceError('NOT_ALLOWED', 'A project token cannot change members, sign-in rules or tokens');
}

/** The only check of project roles. Throws NOT_FOUND, not NOT_ALLOWED, if the viewer has no role in the project. */
export function requireProjectRole(viewer: Viewer | null, projectId: string, needed: ProjectRole): Viewer {
  const known = requireSignedIn(viewer);
  const held = roleIn(known, projectId);
  if (held === null) throw new ServiceError('NOT_FOUND', `There is no project "${projectId}"`);
  if (!roleIncludes(held, needed)) {
    throw new ServiceError(
      'NOT_ALLOWED',
      `This requires the role ${needed.toLowerCase()} in the project; your role is ${held.toLowerCase()}`,
    );
  }
  return known;
}
