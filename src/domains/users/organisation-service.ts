import type { Organisation, OrganisationRole, Prisma, User } from '../../generated/sqlite/client.ts';
import { requireSignedIn, type Viewer } from '../../platform/auth/viewer.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { OwnershipLimit } from './ownership-limit.ts';
import type { UserService } from './user-service.ts';

interface OrganisationServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly users: UserService;
  readonly ownership: OwnershipLimit;
}

export class OrganisationService {
  readonly #options: OrganisationServiceOptions;

  constructor(options: OrganisationServiceOptions) {
    this.#options = options;
  }

  /** The caller becomes the first owner. Errors: INVALID (also for too many), ALREADY_EXISTS, NOT_ALLOWED (tokens). */
  async create(name: string, viewer: Viewer | null): Promise<Organisation> {
    const owner = requireSignedIn(viewer);
    if (owner.kind !== 'USER') throw new ServiceError('NOT_ALLOWED', 'A project token cannot create organisations');
    const trimmed = name.trim();
    const issues = textIssues('input.name', trimmed, { min: 1, max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    try {
      const members = { create: { userId: owner.id, role: 'OWNER' } } as const;
      const data = { id: newId('organisation'), name: trimmed, members };
      const { db, ownership } = this.#options;
      return await ownership.organisation(owner, async () => db.organisation.create({ data }));
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', `There is already an organisation "${trimmed}"`, { cause: error });
    }
  }

  visibleWhere(viewer: Viewer | null): Prisma.OrganisationWhereInput {
    const known = requireSignedIn(viewer);
    return known.isRootAdmin ? {} : { members: { some: { userId: known.id } } };
  }

  /** Errors: NOT_FOUND, NOT_ALLOWED (not an owner), IN_USE (no owner would remain). */
  async setMember(organisationId: string, email: string, role: OrganisationRole, viewer: Viewer | null): Promise<void> {
    await this.#changeMember(organisationId, email, viewer, async (db, user) => {
      const key = { organisationId, userId: user.id };
      const where = { organisationId_userId: key };
      await db.organisationMember.upsert({ where, create: { ...key, role }, update: { role } });
    });
  }

  async removeMember(organisationId: string, email: string, viewer: Viewer | null): Promise<void> {
    await this.#changeMember(organisationId, email, viewer, async (db, user) => {
      const { count } = await db.organisationMember.deleteMany({ where: { organisationId, userId: user.id } });
      if (count === 0) throw notFound('member', user.email);
    });
  }

  async remove(organisationId: string, viewer: Viewer | null): Promise<void> {
    await this.#requireOwner(organisationId, viewer);
    await serializable(this.#options.db, async (db) => {
      if ((await db.project.count({ where: { ownerOrganisationId: organisationId } })) > 0) {
        throw new ServiceError('IN_USE', 'The organisation owns projects; delete them or change their owner first');
      }
      await db.organisation.delete({ where: { id: organisationId } });
    });
    await this.#options.changes.announce('organisation', organisationId);
  }

  async #changeMember(
    organisationId: string,
    email: string,
    viewer: Viewer | null,
    change: (db: Prisma.TransactionClient, user: User) => Promise<void>,
  ): Promise<void> {
    const { db, changes, users } = this.#options;
    await this.#requireOwner(organisationId, viewer);
    const user = await users.byEmail(email);
    await serializable(db, async (tx) => {
      await change(tx, user);
      if ((await tx.organisationMember.count({ where: { organisationId, role: 'OWNER' } })) > 0) return;
      throw new ServiceError('IN_USE', 'An organisation must have at least one owner; add another one first');
    });
    // The user first: operations without rights end before other viewers are read again.
    await changes.announce('user', user.id);
    await changes.announce('organisation', organisationId);
  }

  async #requireOwner(organisationId: string, viewer: Viewer | null): Promise<void> {
    const known = requireSignedIn(viewer);
    const organisation = await this.#options.db.organisation.findUnique({
      where: { id: organisationId },
      include: { members: { where: { userId: known.id } } },
    });
    const membership = organisation?.members[0];
    if (organisation === null || (!known.isRootAdmin && membership === undefined)) {
      throw notFound('organisation', organisationId);
    }
    if (!known.isRootAdmin && membership?.role !== 'OWNER') {
      throw new ServiceError('NOT_ALLOWED', 'This requires an owner of the organisation');
    }
  }
}
