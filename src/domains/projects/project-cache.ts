import type { Prisma, Project } from '../../generated/sqlite/client.ts';
import { kindOfId } from '../../platform/ids.ts';
import { ANYTHING } from '../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../platform/storage/changes/row-cache.ts';

/** A cached project: its row, and the name of its owner. */
export interface ProjectRecord extends Readonly<Project> {
  readonly ownerName: string;
}

export const PROJECT_INCLUDE = {
  ownerUser: { select: { name: true } },
  ownerOrganization: { select: { name: true } },
} as const satisfies Prisma.ProjectInclude;

export type ProjectRow = Prisma.ProjectGetPayload<{ include: typeof PROJECT_INCLUDE }>;

/** A cache of all project rows. A row takes a few hundred bytes, so 100,000 projects take some 30 MB. */
export class ProjectCache extends RowCache<ProjectRow, ProjectRecord> {
  constructor({ db, changes, log }: CacheParts) {
    super({
      changes,
      log,
      // The record contains the name of the owner.
      kinds: ['project', 'user', 'organization'],
      rowsOf: (id) => db.project.findMany({ where: whereOf(id), include: PROJECT_INCLUDE }),
      toEntry: toRecord,
    });
  }
}

const toRecord = ({ ownerUser, ownerOrganization, ...row }: ProjectRow): ProjectRecord => ({
  ...row,
  ownerName: ownerUser?.name ?? ownerOrganization?.name ?? '',
});

/** Selects the project with this id, or the projects of the owner with this id. The prefix of an id is its kind. */
function whereOf(id: string): Prisma.ProjectWhereInput {
  if (id === ANYTHING) return {};
  const kind = kindOfId(id);
  if (kind === 'user') return { ownerUserId: id };
  return kind === 'organization' ? { ownerOrganizationId: id } : { id };
}
