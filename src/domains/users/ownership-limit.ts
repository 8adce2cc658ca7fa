import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';

/**
 * How much a person may own: whoever has signed in may make projects and organisations, and every project is held in memory. Projects
 * of organisations that the person owns count, too; root administrators have no bound. What a person makes in one process is made one
 * after the other; in several at once it may become one more for each.
 */
export class OwnBound {
  readonly #db: Database;
  readonly #limit: number;
  #making: Promise<unknown> = Promise.resolve();

  constructor({ db, limit }: { readonly db: Database; readonly limit: number }) {
    this.#db = db;
    this.#limit = limit;
  }

  /** Makes a project. Errors: INVALID with `info.limit`, and those of `make`. */
  project<T>(owner: Viewer, make: () => Promise<T>): Promise<T> {
    const theirs = { ownerOrganisation: { members: { some: { userId: owner.id, role: 'OWNER' } } } } as const;
    return this.#within(owner, 'projects', make, () =>
      this.#db.project.count({ where: { OR: [{ ownerUserId: owner.id }, theirs] } }),
    );
  }

  /** Makes an organisation. Errors: INVALID with `info.limit`, and those of `make`. */
  organisation<T>(owner: Viewer, make: () => Promise<T>): Promise<T> {
    return this.#within(owner, 'organisations', make, () =>
      this.#db.organisationMember.count({ where: { userId: owner.id, role: 'OWNER' } }),
    );
  }

  #within<T>(owner: Viewer, what: string, make: () => Promise<T>, count: () => Promise<number>): Promise<T> {
    if (owner.isRootAdmin) return make();
    const made = this.#making.then(async () => {
      if ((await count()) >= this.#limit) throw tooMany(what, this.#limit);
      return make();
    });
    this.#making = made.catch(() => undefined);
    return made;
  }
}

function tooMany(what: string, limit: number): ServiceError {
  const reason = `you own ${limit} ${what}, as many as MAX_PROJECTS_PER_USER allows`;
  return new ServiceError('INVALID', `input: ${reason}`, { info: { limit, issues: [{ path: 'input', reason }] } });
}
