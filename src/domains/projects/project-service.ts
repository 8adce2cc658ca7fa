import type { Prisma, ProjectMember, User } from '../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  roleIn,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { invalid, notFound, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import { MAX_DESCRIPTION, MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { type Nullish, withoutNulls } from '../../platform/without-nulls.ts';
import type { OwnershipLimit } from '../users/ownership-limit.ts';
import type { UserService } from '../users/user-service.ts';
import { PROJECT_INCLUDE, type ProjectCache, type ProjectRecord, type ProjectRow } from './project-cache.ts';

interface NewProject {
  readonly name: string;
  readonly description?: string | null | undefined;
  /** Owned by this organization instead of the caller; the caller must be an owner of it. */
  readonly organizationId?: string | null | undefined;
  /** Default: the setting of the service. */
  readonly strictRoles?: boolean | null | undefined;
}

type ProjectChange = Nullish<
  Pick<ProjectRecord, 'name' | 'description' | 'strictRoles' | 'topicPayloads' | 'clusterPasswords'>
> &
  Partial<Pick<ProjectRecord, 'problemThresholds'>>;

type MemberWithUser = ProjectMember & { readonly user: User };

interface ProjectServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly cache: ProjectCache;
  readonly users: UserService;
  readonly ownership: OwnershipLimit;
  readonly strictRoles: boolean;
  /** Called after the rows of a project are deleted. Closes its connections and stops its hosted brokers. */
  readonly afterRemove: (projectId: string) => Promise<void>;
}

export class ProjectService {
  readonly #options: ProjectServiceOptions;

  constructor(options: ProjectServiceOptions) {
    this.#options = options;
  }

  exists(id: string): boolean {
    return this.#options.cache.get(id) !== null;
  }

  /** Waits until announced changes of projects and of their owners are visible in this process. */
  settled(): Promise<void> {
    return this.#options.cache.settled();
  }

  /** The project if the viewer has a role in it. Errors: UNAUTHORIZED, NOT_FOUND. */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER'): ProjectRecord {
    const project = this.#options.cache.get(id);
    if (project !== null && roleIn(requireSignedIn(viewer), id) === null) throw new OutOfSight('project', id);
    requireProjectRole(viewer, id, role);
    if (project === null) throw notFound('project', id);
    return project;
  }

  visibleTo(viewer: Viewer | null): readonly ProjectRecord[] {
    const known = requireSignedIn(viewer);
    if (known.isRootAdmin) return this.#options.cache.all();
    const projects = [...known.projectRoles.keys()].flatMap((id) => this.#options.cache.get(id) ?? []);
    return projects.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  roleOf(viewer: Viewer | null, projectId: string): ProjectRole | null {
    return viewer && roleIn(viewer, projectId);
  }

  /**
   * The caller or the organization owns the project. Errors: INVALID (also for too many projects), NOT_ALLOWED (tokens;
   * not an owner of the organization).
   */
  async create(input: NewProject, viewer: Viewer | null): Promise<ProjectRecord> {
    const owner = requireSignedIn(viewer);
    if (owner.kind !== 'USER') throw new ServiceError('NOT_ALLOWED', 'A project token cannot create projects');
    if (input.organizationId != null) await this.#requireOwner(input.organizationId, owner);
    const data = this.#dataOf(input, owner.id);
    const create = (db: Prisma.TransactionClient) => db.project.create({ data, include: PROJECT_INCLUDE });
    return this.#created(await this.#options.ownership.project(owner, create));
  }

  /** `create` without checks of a caller, for the first start. */
  async createFor(input: NewProject, userId: string): Promise<ProjectRecord> {
    const data = this.#dataOf(input, userId);
    return this.#created(await this.#options.db.project.create({ data, include: PROJECT_INCLUDE }));
  }

  async update(id: string, change: ProjectChange): Promise<ProjectRecord> {
    if (!this.exists(id)) throw notFound('project', id);
    const { strictRoles, topicPayloads, clusterPasswords, problemThresholds } = change;
    const data = {
      ...checkTexts(change),
      ...withoutNulls({ strictRoles, topicPayloads, clusterPasswords }),
      ...(problemThresholds === undefined ? {} : { problemThresholds }),
    };
    const row = await this.#options.db.project
      .update({ where: { id }, data, include: PROJECT_INCLUDE })
      .catch(missingAsNotFound('project', id));
    const record = this.#options.cache.put(row);
    await this.#options.changes.announce('project', id);
    return record;
  }

  async remove(id: string): Promise<void> {
    // One statement, so that the cascade is atomic.
    const { count } = await this.#options.db.project.deleteMany({ where: { id } });
    if (count === 0) throw notFound('project', id);
    this.#options.cache.drop(id);
    await this.#options.changes.announce('project', id);
    await this.#options.changes.announce('project-removed', id);
    await this.#options.afterRemove(id);
  }

  async setMember(projectId: string, email: string, role: ProjectRole): Promise<MemberWithUser> {
    if (!this.exists(projectId)) throw notFound('project', projectId);
    const user = await this.#options.users.byEmail(email);
    // With `include` it would be two statements, of which the second fails if another request inserts the row.
    const member = await this.#options.db.projectMember
      .upsert({
        where: { projectId_userId: { projectId, userId: user.id } },
        create: { projectId, userId: user.id, role },
        update: { role },
      })
      .catch(missingAsNotFound('project', projectId));
    await this.#options.changes.announce('user', user.id);
    return { ...member, user };
  }

  async removeMember(projectId: string, email: string): Promise<User> {
    if (!this.exists(projectId)) throw notFound('project', projectId);
    const user = await this.#options.users.byEmail(email);
    const { count } = await this.#options.db.projectMember.deleteMany({ where: { projectId, userId: user.id } });
    if (count === 0) throw notFound('member', user.email);
    await this.#options.changes.announce('user', user.id);
    return user;
  }

  #dataOf(input: NewProject, userId: string) {
    const { name = '', description = '' } = checkTexts(input);
    const { organizationId, strictRoles } = input;
    const owner = organizationId == null ? { ownerUserId: userId } : { ownerOrganizationId: organizationId };
    return { id: newId('project'), name, description, strictRoles: strictRoles ?? this.#options.strictRoles, ...owner };
  }

  async #created(row: ProjectRow): Promise<ProjectRecord> {
    const { cache, changes } = this.#options;
    const record = cache.put(row);
    if (row.ownerOrganizationId !== null) await changes.announce('organization', row.ownerOrganizationId);
    if (row.ownerUserId !== null) await changes.announce('user', row.ownerUserId);
    await changes.announce('project', row.id);
    return record;
  }

  async #requireOwner(organizationId: string, viewer: Viewer): Promise<void> {
    if (viewer.isRootAdmin) {
      if ((await this.#options.db.organization.count({ where: { id: organizationId } })) === 0) {
        throw notFound('organization', organizationId);
      }
      return;
    }
    const membership = await this.#options.db.organizationMember.findUnique({
      where: { organizationId_userId: { organizationId, userId: viewer.id } },
    });
    if (membership === null) throw notFound('organization', organizationId);
    if (membership.role !== 'OWNER') {
      throw new ServiceError('NOT_ALLOWED', 'Only an owner of the organization can create projects for it');
    }
  }
}

function checkTexts({ name, description }: ProjectChange): { name?: string; description?: string } {
  const trimmed = name?.trim();
  const issues = [
    ...textIssues('input.name', trimmed, { min: 1, max: MAX_NAME }),
    ...textIssues('input.description', description, { max: MAX_DESCRIPTION }),
  ];
  if (issues.length > 0) throw invalid(issues);
  return withoutNulls({ name: trimmed, description });
}
