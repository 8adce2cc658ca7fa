import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Database } from '../../platform/storage/database.ts';

/**
 * Limits how many projects and organizations a user may own, including projects of organizations. Root administrators
 * have no limit. Several processes at the same time may each exceed the limit by one.
 */
export class OwnershipLimit {
  readonly #db: Database;
  readonly #limit: number;
  readonly #creating = new ConcurrencyLimit({ maxRunning: 1 });

  constructor({ db, limit }: { readonly db: Database; readonly limit: number }) {
    this.#db = db;
    this.#limit = limit;
  }

  project<T>(owner: Viewer, create: () => Promise<T>): Promise<T> {
    const byOrganization = { ownerOrganization: { members: { some: { userId: owner.id, role: 'OWNER' } } } } as const;
    return this.#within(owner, 'projects', create, () =>
      this.#db.project.count({ where: { OR: [{ ownerUserId: owner.id }, byOrganization] } }),
    );
  }

  organization<T>(owner: Viewer, create: () => Promise<T>): Promise<T> {
    return this.#within(owner, 'organizations', create, () =>
      this.#db.organizationMember.count({ where: { userId: owner.id, role: 'OWNER' } }),
    );
  }

  #within<T>(owner: Viewer, what: string, create: () => Promise<T>, count: () => Promise<number>): Promise<T> {
    if (owner.isRootAdmin) return create();
    return this.#creating.run(async () => {
      if ((await count()) >= this.#limit) throw tooMany(what, this.#limit);
      return create();
    });
  }
}

function tooMany(what: string, limit: number): ServiceError {
  const reason = `you own ${limit} ${what}, the maximum set by MAX_PROJECTS_PER_USER`;
  return new ServiceError('INVALID', `input: ${reason}`, { info: { limit, issues: [{ path: 'input', reason }] } });
}
