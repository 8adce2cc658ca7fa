import type { Logger } from 'pino';
import type { Prisma, Project } from '../../generated/sqlite/client.ts';
import { kindOfId } from '../../platform/ids.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { Directory } from '../../platform/storage/directory.ts';

/** A cached project. `createdAt` and `updatedAt` are ISO 8601. */
export interface ProjectRecord
  extends Readonly<Omit<Project, 'ownerUserId' | 'ownerOrganisationId' | 'createdAt' | 'updatedAt'>> {
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

/** A cache of all project rows. A row takes a few hundred bytes, so 100,000 projects take some 30 MB. */
export class ProjectCache extends Directory<ProjectRow, ProjectRecord> {
  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    super({
      changes,
      log,
      // The record contains the name of the owner.
      kinds: ['project', 'user', 'organisation'],
      rowsOf: (id) => db.project.findMany({ where: whereOf(id), include: PROJECT_INCLUDE }),
      toEntry: toRecord,
    });
  }
}

function toRecord(row: ProjectRow): ProjectRecord {
  const { ownerUser, ownerOrganisation, ownerUserId, ownerOrganisationId, createdAt, updatedAt, ...project } = row;
  const name = ownerUser?.name ?? ownerOrganisation?.name ?? '';
  const owner = { userId: ownerUserId, organisationId: ownerOrganisationId, name };
  return { ...project, owner, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

/** Selects the project with this id, or the projects of the owner with this id. The prefix of an id is its kind. */
function whereOf(id: string): Prisma.ProjectWhereInput {
  if (id === ANYTHING) return {};
  const kind = kindOfId(id);
  if (kind === 'user') return { ownerUserId: id };
  return kind === 'organisation' ? { ownerOrganisationId: id } : { id };
}
