import type { Prisma } from '../../generated/sqlite/client.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { RowLock } from '../../platform/storage/postgresql/row-lock.ts';

type Create<T> = (db: Prisma.TransactionClient) => Promise<T>;

/**
 * Limits how many projects and organizations a user may own, including projects of organizations, when the user creates
 * one: exactly, over all processes. Root administrators have no limit.
 */
export class OwnershipLimit {
  readonly #db: Database;
  readonly #limit: number;
  readonly #lock: RowLock;

  constructor({ db, limit }: { readonly db: Database; readonly limit: number }) {
    this.#db = db;
    this.#limit = limit;
    this.#lock = new RowLock(db);
  }

  project<T>(owner: Viewer, create: Create<T>): Promise<T> {
    const byOrganization = { ownerOrganization: { members: { some: { userId: owner.id, role: 'OWNER' } } } } as const;
    const where = { OR: [{ ownerUserId: owner.id }, byOrganization] };
    return this.#within(owner, 'projects', create, (db) => db.project.count({ where }));
  }

  organization<T>(owner: Viewer, create: Create<T>): Promise<T> {
    const where = { userId: owner.id, role: 'OWNER' } as const;
    return this.#within(owner, 'organizations', create, (db) => db.organizationMember.count({ where }));
  }

  #within<T>(owner: Viewer, what: string, create: Create<T>, count: Create<number>): Promise<T> {
    if (owner.isRootAdmin) return create(this.#db);
    return this.#lock.run('User', owner.id, async (tx) => {
      if ((await count(tx)) >= this.#limit) throw tooMany(what, this.#limit);
      return create(tx);
    });
  }
}

function tooMany(what: string, limit: number): ServiceError {
  const reason = `you own ${limit} ${what}, the maximum set by MAX_PROJECTS_PER_USER`;
  return new ServiceError('INVALID', `input: ${reason}`, { info: { limit, issues: [{ path: 'input', reason }] } });
}
