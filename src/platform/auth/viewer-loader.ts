import type { Identity } from '../../generated/sqlite/client.ts';
import type { Database } from '../storage/database.ts';
import type { SecretKind } from './secrets.ts';
import { type ProjectRole, roleIncludes, type Viewer } from './viewer.ts';

/** Validity of a session of an external provider after the last successful check at the provider. */
export const MAX_UNCHECKED_MS = 24 * 3_600_000;

export interface LoadedViewer {
  readonly viewer: Viewer;
  readonly userId: string | null;
  readonly lastUsedAt: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export type ClaimRoles = (
  identity: Identity,
) => Promise<readonly { readonly projectId: string; readonly role: ProjectRole }[]>;

export async function loadViewer(
  db: Database,
  claimRoles: ClaimRoles,
  kind: SecretKind,
  tokenHash: string,
): Promise<LoadedViewer | null> {
  return kind === 'session' ? loadSession(db, claimRoles, tokenHash) : loadProjectToken(db, tokenHash);
}

async function loadSession(db: Database, claimRoles: ClaimRoles, tokenHash: string): Promise<LoadedViewer | null> {
  const session = await db.session.findUnique({ where: { tokenHash } });
  if (session === null || session.expiresAt.getTime() <= Date.now()) return null;
  const { userId } = session;
  // At the same time, because the database may be far away.
  const [user, identities, memberships, organizations, projects] = await Promise.all([
    db.user.findUnique({
      where: { id: userId },
      select: { id: true, email: true, isRoot: true, ssoType: true, totpSince: true, needsTotp: true },
    }),
    db.identity.findMany({ where: { userId } }),
    db.projectMember.findMany({ where: { userId }, select: { projectId: true, role: true } }),
    db.organizationMember.findMany({ where: { userId }, select: { organizationId: true, role: true } }),
    db.project.findMany({
      where: { OR: [{ ownerUserId: userId }, { ownerOrganization: { members: { some: { userId } } } }] },
      select: { id: true, ownerUserId: true, ownerOrganizationId: true },
    }),
  ]);
  if (user === null) return null;
  const signIn = validSignIn({ provider: session.provider, user: { ssoType: user.ssoType, identities } });
  if (signIn === null || signIn.endsAt <= Date.now()) return null;
  const isSecondFactorMissing = user.needsTotp && user.totpSince === null && session.provider === null;
  const projectRoles = new Map<string, ProjectRole>();
  const grant = (projectId: string, role: ProjectRole) => {
    const held = projectRoles.get(projectId);
    if (held === undefined || roleIncludes(role, held)) projectRoles.set(projectId, role);
  };
  for (const { projectId, role } of memberships) grant(projectId, role);
  const roles = new Map(organizations.map(({ organizationId, role }) => [organizationId, role]));
  for (const { id, ownerUserId, ownerOrganizationId } of projects) {
    if (ownerUserId === userId) grant(id, 'ADMIN');
    const role = roles.get(ownerOrganizationId ?? '');
    if (role !== undefined) grant(id, role === 'OWNER' ? 'ADMIN' : 'VIEWER');
  }
  if (signIn.identity !== null) {
    for (const { projectId, role } of await claimRoles(signIn.identity)) grant(projectId, role);
  }
  return {
    userId: user.id,
    lastUsedAt: session.lastUsedAt.getTime(),
    createdAt: session.createdAt.getTime(),
    viewer: {
      kind: 'USER',
      id: user.id,
      name: user.email,
      credentialId: session.id,
      expiresAt: Math.min(session.expiresAt.getTime(), signIn.endsAt),
      isRootAdmin: user.isRoot && !isSecondFactorMissing,
      projectRoles: isSecondFactorMissing ? new Map() : projectRoles,
      brokers: null,
      isSecondFactorMissing,
    },
  };
}

interface SessionUser {
  readonly provider: string | null;
  readonly user: { readonly ssoType: string | null; readonly identities: readonly Identity[] };
}

/**
 * `null` if the account no longer signs in at the provider of the session. `endsAt`: until when its last check counts.
 */
function validSignIn({
  provider,
  user,
}: SessionUser): { readonly identity: Identity | null; readonly endsAt: number } | null {
  if (provider === null) return { identity: null, endsAt: Number.POSITIVE_INFINITY };
  const identity = user.identities.find((one) => one.provider === provider);
  if (identity === undefined || user.ssoType !== provider) return null;
  return { identity, endsAt: identity.checkedAt.getTime() + MAX_UNCHECKED_MS };
}

async function loadProjectToken(db: Database, tokenHash: string): Promise<LoadedViewer | null> {
  const include = { brokers: true } as const;
  const token =
    (await db.projectToken.findUnique({ where: { tokenHash }, include })) ??
    (await db.projectToken.findUnique({ where: { previousHash: tokenHash }, include }));
  if (token === null) return null;
  const ends = [token.validUntil, token.tokenHash === tokenHash ? null : token.previousValidUntil];
  const expiresAt = Math.min(...ends.map((end) => end?.getTime() ?? Number.POSITIVE_INFINITY));
  if (expiresAt <= Date.now()) return null;
  return {
    userId: null,
    lastUsedAt: token.lastUsedAt?.getTime() ?? 0,
    createdAt: token.issuedAt.getTime(),
    viewer: {
      kind: 'TOKEN',
      id: token.id,
      name: token.name,
      issuer: token.issuer,
      // The previous secret of a rotated token expires separately.
      credentialId: `${token.id}:${tokenHash.slice(0, 16)}`,
      expiresAt,
      isRootAdmin: false,
      projectRoles: new Map([[token.projectId, token.role]]),
      brokers: token.type === 'RESTRICTED' ? new Set(token.brokers.map(({ brokerId }) => brokerId)) : null,
    },
  };
}
