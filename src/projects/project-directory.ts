import type { Logger } from 'pino';
import type { Prisma } from '../generated/sqlite/client.ts';
import { kindOfId } from '../ids.ts';
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
  #sorted: readonly ProjectRecord[] | null = null;
  readonly #rereading: Rereading;
  readonly #stops: (() => void)[];

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    this.#db = db;
    this.#rereading = new Rereading(log, (id, isOutdated) => this.#read(id, isOutdated));
    const { listener } = this.#rereading;
    // The owner's name is part of the record.
    this.#stops = (['project', 'user', 'organisation'] as const).map((kind) => changes.on(kind, listener));
  }

  async load(): Promise<void> {
    await this.#read(ANYTHING, () => false);
  }

  /** What a write of this process left. */
  put(row: ProjectRow): ProjectRecord {
    this.#rereading.written(row.id);
    return this.#keep(row);
  }

  drop(id: string): void {
    this.#rereading.written(id);
    this.#forget(id);
  }

  async #read(id: string, isOutdated: (id: string) => boolean): Promise<void> {
    const where = whereOf(id);
    const rows = await this.#db.project.findMany({ where, include: PROJECT_INCLUDE, orderBy: { id: 'asc' } });
    const found = new Set(rows.map((row) => row.id));
    const gone = id === ANYTHING ? [...this.#projects.keys()] : [id];
    for (const known of gone) if (!found.has(known) && !isOutdated(known)) this.#forget(known);
    for (const row of rows) if (!isOutdated(row.id)) this.#keep(row);
  }

  #keep(row: ProjectRow): ProjectRecord {
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
    this.#sorted = null;
    return record;
  }

  #forget(id: string): void {
    if (this.#projects.delete(id)) this.#sorted = null;
  }

  get(id: string): ProjectRecord | null {
    return this.#projects.get(id) ?? null;
  }

  /** In order of creation; the same array until one of them changes. */
  all(): readonly ProjectRecord[] {
    this.#sorted ??= [...this.#projects.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return this.#sorted;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#rereading.settled();
  }
}

/** Ids carry their kind: a project itself, or those of an owner. */
function whereOf(id: string): Prisma.ProjectWhereInput {
  if (id === ANYTHING) return {};
  const kind = kindOfId(id);
  if (kind === 'user') return { ownerUserId: id };
  return kind === 'organisation' ? { ownerOrganisationId: id } : { id };
}
