import type { Organization, OrganizationRole, Prisma, User } from '../../generated/sqlite/client.ts';
import { requireSignedIn, type Viewer } from '../../platform/auth/viewer.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { OwnershipLimit } from './ownership-limit.ts';
import type { UserService } from './user-service.ts';

interface OrganizationServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly users: UserService;
  readonly ownership: OwnershipLimit;
}

export class OrganizationService {
  readonly #options: OrganizationServiceOptions;

  constructor(options: OrganizationServiceOptions) {
    this.#options = options;
  }

  /** The caller becomes the first owner. Errors: INVALID (also for too many), ALREADY_EXISTS, NOT_ALLOWED (tokens). */
  async create(name: string, viewer: Viewer | null): Promise<Organization> {
    const owner = requireSignedIn(viewer);
    if (owner.kind !== 'USER') throw new ServiceError('NOT_ALLOWED', 'A project token cannot create organizations');
    const trimmed = name.trim();
    const issues = textIssues('input.name', trimmed, { min: 1, max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    try {
      const members = { create: { userId: owner.id, role: 'OWNER' } } as const;
      const data = { id: newId('organization'), name: trimmed, members };
      return await this.#options.ownership.organization(owner, (db) => db.organization.create({ data }));
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', `There is already an organization "${trimmed}"`, { cause: error });
    }
  }

  visibleWhere(viewer: Viewer | null): Prisma.OrganizationWhereInput {
    const known = requireSignedIn(viewer);
    return known.isRootAdmin ? {} : { members: { some: { userId: known.id } } };
  }

  /** Errors: NOT_FOUND, NOT_ALLOWED (not an owner), IN_USE (no owner would remain). */
  async setMember(organizationId: string, email: string, role: OrganizationRole, viewer: Viewer | null): Promise<void> {
    await this.#changeMember(organizationId, email, viewer, async (db, user) => {
      const key = { organizationId, userId: user.id };
      const where = { organizationId_userId: key };
      await db.organizationMember.upsert({ where, create: { ...key, role }, update: { role } });
    });
  }

  async removeMember(organizationId: string, email: string, viewer: Viewer | null): Promise<void> {
    await this.#changeMember(organizationId, email, viewer, async (db, user) => {
      const { count } = await db.organizationMember.deleteMany({ where: { organizationId, userId: user.id } });
      if (count === 0) throw notFound('member', user.email);
    });
  }

  async remove(organizationId: string, viewer: Viewer | null): Promise<void> {
    await this.#requireOwner(organizationId, viewer);
    await serializable(this.#options.db, async (db) => {
      if ((await db.project.count({ where: { ownerOrganizationId: organizationId } })) > 0) {
        throw new ServiceError('IN_USE', 'The organization owns projects; delete them or change their owner first');
      }
      await db.organization.delete({ where: { id: organizationId } });
    });
    await this.#options.changes.announce('organization', organizationId);
  }

  async #changeMember(
    organizationId: string,
    email: string,
    viewer: Viewer | null,
    change: (db: Prisma.TransactionClient, user: User) => Promise<void>,
  ): Promise<void> {
    const { db, changes, users } = this.#options;
    await this.#requireOwner(organizationId, viewer);
    const user = await users.byEmail(email);
    await serializable(db, async (tx) => {
      await change(tx, user);
      if ((await tx.organizationMember.count({ where: { organizationId, role: 'OWNER' } })) > 0) return;
      throw new ServiceError('IN_USE', 'An organization must have at least one owner; add another one first');
    });
    // The user first: operations without rights end before other viewers are read again.
    await changes.announce('user', user.id);
    await changes.announce('organization', organizationId);
  }

  async #requireOwner(organizationId: string, viewer: Viewer | null): Promise<void> {
    const known = requireSignedIn(viewer);
    const organization = await this.#options.db.organization.findUnique({
      where: { id: organizationId },
      include: { members: { where: { userId: known.id } } },
    });
    const membership = organization?.members[0];
    if (organization === null || (!known.isRootAdmin && membership === undefined)) {
      throw notFound('organization', organizationId);
    }
    if (!known.isRootAdmin && membership?.role !== 'OWNER') {
      throw new ServiceError('NOT_ALLOWED', 'This requires an owner of the organization');
    }
  }
}
