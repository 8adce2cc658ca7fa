import type { Logger } from 'pino';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { kindOfId } from '../../platform/ids.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { Directory } from '../../platform/storage/directory.ts';

/** A project as it is held in memory; `createdAt` and `updatedAt` are ISO 8601. */
export interface ProjectRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly strictRoles: boolean;
  /** What is published in its brokers is kept, and told, in the topic tree. */
  readonly topicPayloads: boolean;
  readonly clusterPasswords: boolean;
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

/** Every project. A row is a few hundred bytes, so even 100,000 of them are small. */
export class ProjectDirectory extends Directory<ProjectRow, ProjectRecord> {
  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    super({
      changes,
      log,
      // The owner's name is part of the record.
      kinds: ['project', 'user', 'organisation'],
      rowsOf: (id) => db.project.findMany({ where: whereOf(id), include: PROJECT_INCLUDE }),
      toEntry: toRecord,
    });
  }
}

function toRecord(row: ProjectRow): ProjectRecord {
  const {
    id,
    name,
    description,
    strictRoles,
    topicPayloads,
    clusterPasswords,
    createdAt,
    updatedAt,
    ownerUser,
    ownerOrganisation,
  } = row;
  return {
    id,
    name,
    description,
    strictRoles,
    topicPayloads,
    clusterPasswords,
    owner: {
      userId: ownerUser?.id ?? null,
      organisationId: ownerOrganisation?.id ?? null,
      name: ownerUser?.name ?? ownerOrganisation?.name ?? '',
    },
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** Ids carry their kind: a project itself, or those of an owner. */
function whereOf(id: string): Prisma.ProjectWhereInput {
  if (id === ANYTHING) return {};
  const kind = kindOfId(id);
  if (kind === 'user') return { ownerUserId: id };
  return kind === 'organisation' ? { ownerOrganisationId: id } : { id };
}
