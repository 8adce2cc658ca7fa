import type { Logger } from 'pino';
import type { Prisma } from '../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { Rereading } from '../storage/rereading.ts';

/** A project as it is held in memory; `createdAt` and `updatedAt` are ISO 8601. */
export interface ProjectRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly strictRoles: boolean;
  readonly owner: ProjectOwner;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ProjectOwner {
  readonly userId: string | null;
  readonly organisationId: string | null;
  readonly name: string;
}

export const PROJECT_INCLUDE = {
  ownerUser: { select: { id: true, name: true } },
  ownerOrganisation: { select: { id: true, name: true } },
} as const satisfies Prisma.ProjectInclude;

type ProjectRow = Prisma.ProjectGetPayload<{ include: typeof PROJECT_INCLUDE }>;

/**
 * Every project, in memory and in order of creation: looked up by almost every request. Kept true by its own service's
 * writes and, with several processes, by the database's notifications. A row is a few hundred bytes, so even 100,000
 * projects are small.
 */
export class ProjectDirectory {
  readonly #db: Database;
  readonly #projects = new Map<string, ProjectRecord>();
  readonly #rereading: Rereading;
  readonly #stops: (() => void)[];

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    this.#db = db;
    this.#rereading = new Rereading(log, (id) => (id === ANYTHING ? this.load() : this.reload(id)));
    const { listener } = this.#rereading;
    // The owner's name is part of the record.
    this.#stops = [
      changes.on('project', listener),
      changes.on('user', () => listener(ANYTHING)),
      changes.on('organisation', () => listener(ANYTHING)),
    ];
  }

  async load(): Promise<void> {
    const rows = await this.#db.project.findMany({ include: PROJECT_INCLUDE, orderBy: { id: 'asc' } });
    this.#projects.clear();
    for (const row of rows) this.put(row);
  }

  async reload(id: string): Promise<void> {
    const row = await this.#db.project.findUnique({ where: { id }, include: PROJECT_INCLUDE });
    if (row === null) this.#projects.delete(id);
    else this.put(row);
  }

  put(row: ProjectRow): ProjectRecord {
    const { id, name, description, strictRoles, createdAt, updatedAt, ownerUser, ownerOrganisation } = row;
    const record: ProjectRecord = {
      id,
      name,
      description,
      strictRoles,
      owner: {
        userId: ownerUser?.id ?? null,
        organisationId: ownerOrganisation?.id ?? null,
        name: ownerUser?.name ?? ownerOrganisation?.name ?? '',
      },
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
    };
    this.#projects.set(id, record);
    return record;
  }

  drop(id: string): void {
    this.#projects.delete(id);
  }

  get(id: string): ProjectRecord | null {
    return this.#projects.get(id) ?? null;
  }

  /** In order of creation. */
  all(): IterableIterator<ProjectRecord> {
    return this.#projects.values();
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#rereading.settled();
  }
}
