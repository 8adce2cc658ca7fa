import { ServiceError } from '../errors.ts';

/** Project roles, lowest first; a higher one includes the lower. */
export const PROJECT_ROLES = ['VIEWER', 'EDITOR', 'ADMIN'] as const;
export type ProjectRole = (typeof PROJECT_ROLES)[number];

/**
 * What an operation asks of its caller: a role in the project it touches, or a standing in the whole service. PERSON: somebody who
 * signed in, and not a project token.
 */
export type RequiredRole = ProjectRole | 'PUBLIC' | 'SIGNED_IN' | 'PERSON' | 'ROOT_ADMIN';

export const roleIncludes = (held: ProjectRole, needed: ProjectRole): boolean =>
  PROJECT_ROLES.indexOf(held) >= PROJECT_ROLES.indexOf(needed);

/**
 * The caller behind a request: a signed-in person, a project token, or the operator of this machine (at the command line).
 * Immutable; a change of rights makes a new one.
 */
export interface Viewer {
  readonly kind: 'USER' | 'TOKEN' | 'OPERATOR';
  /** User id or token id. */
  readonly id: string;
  /** For messages, audit and `issuer`: the e-mail of the person, or the name of the token. */
  readonly name: string;
  /** Of a token: the e-mail of the person who issued it. */
  readonly issuer?: string;
  /** Id of the session, or of the token: what ends when this credential is revoked. */
  readonly credentialId: string;
  /** Epoch milliseconds; Infinity for a token without end. */
  readonly expiresAt: number;
  readonly isRootAdmin: boolean;
  /** Roles by project id; of every project for a root administrator (who counts as ADMIN everywhere). */
  readonly projectRoles: ReadonlyMap<string, ProjectRole>;
  /** For a token restricted to brokers: the only ones it sees. Null: all of its projects. */
  readonly brokers: ReadonlySet<string> | null;
}

const rightsKeys = new WeakMap<Viewer, string>();

/**
 * Equal for viewers who may do the same, whoever they are: what is made for one of them may be told to all. A viewer that is
 * restricted to brokers is alone with its key, since lists of tokens show it only itself.
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
 * Somebody with the rights of this viewer and without its identity: for results that are made once and told to all with the same
 * `rightsKey`. It matches no person, token or session, so what is shown to one of these alone is not shown to it. It does not
 * expire: each receiver's own guard ends at its own time. A viewer that is restricted to brokers shares with nobody and stays.
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

/** Whether the viewer may change rights on `$CONTROL/` of a broker: they make their holder an administrator of the broker. */
export const mayControl = (viewer: Viewer | null, { projectId }: { readonly projectId: string }): boolean =>
  viewer !== null && roleIn(viewer, projectId) === 'ADMIN';

export function seesBroker(viewer: Viewer, broker: { readonly id: string; readonly projectId: string }): boolean {
  return roleIn(viewer, broker.projectId) !== null && (viewer.brokers === null || viewer.brokers.has(broker.id));
}

export function requireSignedIn(viewer: Viewer | null): Viewer {
  if (viewer === null) throw new ServiceError('UNAUTHORIZED', 'Sign in, or send a token: Authorization: Bearer …');
  if (viewer.expiresAt <= Date.now()) throw new ServiceError('UNAUTHORIZED', 'The session or token has expired');
  return viewer;
}

/** For what only people have: projects of their own, a password, sessions. */
export function requirePerson(viewer: Viewer | null): Viewer {
  const known = requireSignedIn(viewer);
  if (known.kind !== 'USER') throw new ServiceError('NOT_ALLOWED', 'This is for people who have signed in');
  return known;
}

export function requireRootAdmin(viewer: Viewer | null): Viewer {
  const known = requireSignedIn(viewer);
  if (!known.isRootAdmin) throw new ServiceError('NOT_ALLOWED', 'This needs a root administrator');
  return known;
}

/** For what concerns a project beyond single brokers: a token that is restricted to brokers has no say in it. */
export function requireWholeProject(viewer: Viewer): void {
  if (viewer.brokers === null) return;
  throw new ServiceError(
    'NOT_ALLOWED',
    'This concerns the whole project; the token is restricted to some of its brokers',
  );
}

/** For what says who may get in (members, rules, tokens): whoever has a token must not get ways in that would outlive it. */
export function requireNoToken(viewer: Viewer): void {
  if (viewer.kind !== 'TOKEN') return;
  throw new ServiceError('NOT_ALLOWED', 'A project token does not change who may get in: members, rules, tokens');
}

/**
 * The one place where a project role is checked. A project that the caller has no role in does not exist for it:
 * NOT_FOUND, not NOT_ALLOWED. Whether the project exists at all is for the caller of this function to know.
 */
export function requireProjectRole(viewer: Viewer | null, projectId: string, needed: ProjectRole): Viewer {
  const known = requireSignedIn(viewer);
  const held = roleIn(known, projectId);
  if (held === null) throw new ServiceError('NOT_FOUND', `There is no project "${projectId}"`);
  if (!roleIncludes(held, needed)) {
    throw new ServiceError(
      'NOT_ALLOWED',
      `This needs the role ${needed.toLowerCase()} in the project; yours is ${held.toLowerCase()}`,
    );
  }
  return known;
}
