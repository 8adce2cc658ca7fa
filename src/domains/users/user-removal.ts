import type { Prisma } from '../../generated/sqlite/client.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import type { RootAdmins } from './root-admins.ts';

interface OwnedObjects {
  readonly projects: readonly Named[];
  readonly organizations: readonly Named[];
}

interface Named {
  readonly id: string;
  readonly name: string;
}

export interface RemovedUser extends OwnedObjects {
  readonly email: string;
}

const MAX_LISTED = 20;

/** Deletes a user and hands its objects over to the user `heirId`. Errors: see `UserService.remove`. */
export async function removeUser(
  tx: Prisma.TransactionClient,
  userId: string,
  heirId: string | null,
  rootAdmins: RootAdmins,
): Promise<RemovedUser> {
  const named = { select: { id: true, name: true }, orderBy: { id: 'asc' } } as const;
  const user = await tx.user.findUnique({ where: { id: userId }, include: { projects: named } });
  if (user === null) throw notFound('user', userId);
  const organizations = await tx.organization.findMany({
    where: { members: { some: { userId, role: 'OWNER' }, none: { userId: { not: userId }, role: 'OWNER' } } },
    ...named,
  });
  await rootAdmins.requireOthers(tx, user);
  const { projects } = user;
  if (heirId !== null) await handOver(tx, userId, heirId, organizations);
  else if (projects.length > 0) {
    throw inUse(`${user.email} owns ${listed(projects, 'project')}`, { projects });
  } else if (organizations.length > 0) {
    throw inUse(`${user.email} is the last owner of ${listed(organizations, 'organization')}`, { organizations });
  }
  await tx.user.delete({ where: { id: userId } });
  return { email: user.email, projects, organizations };
}

async function handOver(
  tx: Prisma.TransactionClient,
  userId: string,
  heirId: string,
  organizations: readonly Named[],
): Promise<void> {
  const isOtherUser = heirId !== userId && (await tx.user.count({ where: { id: heirId } })) > 0;
  if (!isOtherUser) throw invalid([{ path: 'input.handOverTo', reason: 'must be the id of another user' }]);
  await tx.project.updateMany({ where: { ownerUserId: userId }, data: { ownerUserId: heirId } });
  for (const { id: organizationId } of organizations) {
    await tx.organizationMember.upsert({
      where: { organizationId_userId: { organizationId, userId: heirId } },
      create: { organizationId, userId: heirId, role: 'OWNER' },
      update: { role: 'OWNER' },
    });
  }
}

function inUse(message: string, owned: Partial<OwnedObjects>): ServiceError {
  const info = Object.fromEntries(Object.entries(owned).map(([what, list]) => [what, list.slice(0, MAX_LISTED)]));
  return new ServiceError('IN_USE', `${message}; set the new owner (handOverTo), or delete them first`, { info });
}

function listed(list: readonly Named[], what: string): string {
  const names = list.slice(0, 3).map(({ name }) => `"${name}"`);
  const more = list.length > names.length ? ` and ${list.length - names.length} more` : '';
  return `${list.length === 1 ? 'the' : list.length} ${what}${list.length === 1 ? '' : 's'} ${names.join(', ')}${more}`;
}
