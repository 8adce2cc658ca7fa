import { builder, checkedByService, requires, rootAdmin, signedIn } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { type RowList, relatedRows, rowPage, SHORT_PAGES } from '../../gateway/graphql/row-connection.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { belongsToProject } from '../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import { requireSignedIn, requireWholeProject } from '../../platform/auth/viewer.ts';
import { listConnection } from '../../platform/paging.ts';
import { User } from '../users/user-schema.ts';
import type { ProjectRecord } from './project-cache.ts';

export const ProjectRole = describedEnum(
  'ProjectRole',
  'A role in a project. A higher role includes the lower ones: VIEWER < EDITOR < ADMIN.',
  {
    ADMIN:
      'Also adds and removes brokers, members and tokens, changes access rules on `$CONTROL/` topics, and reads the audit. Owners of the project have this role.',
    EDITOR: 'Also changes the settings of brokers, and reads payloads in topic trees.',
    VIEWER:
      'Reads the project and its brokers. Without `hasStrictRoles` also changes what a broker stores, such as its access control.',
  },
);

const OWNER_USER = 'Id of the user who owns the project. Null if an organization owns it.';

const ProjectOwner = builder.objectRef<ProjectRecord>('ProjectOwner').implement({
  description: 'The user or the organization that owns a project.',
  fields: (t) => ({
    userId: t.exposeID('ownerUserId', { description: OWNER_USER, nullable: true }),
    organizationId: t.exposeID('ownerOrganizationId', {
      description: 'Id of the organization that owns the project. Null if a user owns it.',
      nullable: true,
    }),
    name: t.exposeString('ownerName', { description: 'Name of the user or of the organization.' }),
  }),
});

export const ProjectMember = builder.prismaObject('ProjectMember', {
  description: 'A user with a role in a project.',
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  select: { projectId: true },
  fields: (t) => ({
    user: t.relation('user', { description: 'The account of the member.' }),
    project: t.field({
      description: 'The project in which the user has the role.',
      type: Project,
      resolve: ({ projectId }, _args, { services, viewer }) => services.projects.visible(projectId, viewer),
    }),
    role: t.expose('role', { description: 'Role of the member in the project.', type: ProjectRole }),
    createdAt: t.expose('createdAt', { description: 'Time at which the member was added.', type: 'DateTime' }),
  }),
});

export const PROJECT_NAME = 'Name of the project: 1 to 200 characters. It need not be unique.';
export const PROJECT_DESCRIPTION = 'Text for users, at most 4,000 characters. Default: empty.';
export const PROJECT_ID = 'Id of the project: `prj_…`.';

const BY_ADDITION = { column: 'createdAt', columnType: 'time', direction: 'asc', pageSize: SHORT_PAGES } as const;
const MEMBERS: RowList = { kind: 'ProjectMember', key: 'userId', ...BY_ADDITION };
const MEMBERSHIPS: RowList = { kind: 'Membership', key: 'projectId', ...BY_ADDITION };

/** Its values are cached rows. Relations are read from the database, for all projects of a list at once. */
export const Project = builder.prismaObject('Project', {
  description: 'A group of brokers with its own members and tokens.',
  ...belongsToProject(({ id }: { readonly id: string }) => id),
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: PROJECT_NAME }),
    description: t.exposeString('description', { description: PROJECT_DESCRIPTION }),
    owner: t.field({
      description: 'The user or the organization that owns the project.',
      type: ProjectOwner,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
    }),
    ownerUserId: t.exposeID('ownerUserId', { description: OWNER_USER, nullable: true }),
    viewerRole: t.field({
      description: 'The role of the caller. ADMIN for root administrators.',
      type: ProjectRole,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.roleOf(viewer, id) ?? 'VIEWER',
    }),
    createdAt: t.expose('createdAt', { description: 'Time at which the project was created.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', {
      description: 'Time of the last change of the name, the description or the settings.',
      type: 'DateTime',
    }),
  }),
});

builder.prismaObjectFields(Project, (t) => ({
  members: t.connection(
    {
      type: ProjectMember,
      nullable: true,
      description:
        'The members of the project in the order in which they were added. A page has at most 100 entries. Default: 20. Not for tokens that are restricted to brokers.',
      select: (args, _context, nested) => ({
        members: relatedRows(MEMBERS, args, nested),
        _count: { select: { members: true } },
      }),
      ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
      authScopes: (_project: unknown, _args, { viewer }) => {
        requireWholeProject(requireSignedIn(viewer));
        return true;
      },
      resolve: ({ members, _count }, args) => rowPage(MEMBERS, args, members, _count.members),
    },
    {
      name: 'ProjectMemberConnection',
      description: 'A page of the members of a project.',
      fields: (page) => totalCount(page, 'Number of members on all pages.'),
    },
    { name: 'ProjectMemberEdge' },
  ),
}));

builder.prismaObjectFields(User, (t) => ({
  memberships: t.connection(
    {
      type: ProjectMember,
      nullable: true,
      description:
        'The projects of which the user is a member, in the order in which the user was added. Projects that the user owns are not included. A page has at most 100 entries. Default: 20. For root administrators.',
      ...rootAdmin,
      select: (args, _context, nested) => ({
        memberships: relatedRows(MEMBERSHIPS, args, nested),
        _count: { select: { memberships: true } },
      }),
      resolve: ({ memberships, _count }, args) => rowPage(MEMBERSHIPS, args, memberships, _count.memberships),
    },
    {
      name: 'MembershipConnection',
      description: 'A page of the memberships of a user.',
      fields: (page) => totalCount(page, 'Number of memberships on all pages.'),
    },
    { name: 'MembershipEdge' },
  ),
}));

findsNode('project', (id, { services, viewer }) => services.projects.visible(id, viewer));

export const STRICT_ROLES =
  'Whether writing operations require EDITOR also where the REST interface documents Viewer. Default for a new project: STRICT_ROLES of the service.';

const ProjectSettings = builder.objectRef<ProjectRecord>('ProjectSettings').implement({
  ...belongsToProject(({ id }: ProjectRecord) => id),
  description: 'The settings of a project.',
  fields: (t) => ({
    hasStrictRoles: t.exposeBoolean('strictRoles', {
      description: STRICT_ROLES,
    }),
    storesTopicPayloads: t.exposeBoolean('topicPayloads', {
      description: 'Whether the topic trees of the brokers store the beginning of the last payload of each topic.',
    }),
    storesClusterPasswords: t.exposeBoolean('clusterPasswords', {
      description:
        'Whether passwords that are set on clusters are stored encrypted for nodes that are disconnected or join later.',
    }),
  }),
});

export const RestProjectSettings = builder.objectRef<ProjectRecord>('RestProjectSettings').implement({
  ...belongsToProject(({ id }: ProjectRecord) => id, 'EDITOR'),
  description: 'Internal: the settings of a project as the REST interface documents them.',
  fields: (t) => ({
    project: t.field({ description: 'The project without its brokers.', type: Project, resolve: (project) => project }),
    owner: t.field({ description: 'The owner of the project.', type: ProjectOwner, resolve: (project) => project }),
  }),
});

builder.prismaObjectFields(Project, (t) => ({
  settings: t.field({
    type: ProjectSettings,
    description: 'The settings of the project.',
    nullable: true,
    resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
  }),
  restSettings: t.field({
    type: RestProjectSettings,
    description: 'Internal: for the REST interface. Requires the EDITOR role.',
    nullable: true,
    ...requires('EDITOR'),
    authScopes: ({ id }) => ({ editorOf: id }),
    resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
  }),
  viewerCanUpdate: t.boolean(viewerCan('Mutation.updateProject', 'change the project and its settings', ofProject)),
  viewerCanDelete: t.boolean(viewerCan('Mutation.deleteProject', 'delete the project', ofProject)),
  viewerCanManageMembers: t.boolean(viewerCan('Mutation.setProjectMember', 'add and remove members', ofProject)),
}));

builder.queryFields((t) => ({
  project: t.field({
    description: 'A project, or null with NOT_FOUND if the caller has no role in a project with this id.',
    type: Project,
    nullable: true,
    ...checkedByService('VIEWER'),
    args: { id: t.arg.id({ description: PROJECT_ID, required: true }) },
    resolve: (_root, { id }, { services, viewer }) => services.projects.visible(id, viewer),
  }),
  projects: t.connection(
    {
      description: 'The projects in which the caller has a role, in order of creation.',
      type: Project,
      ...signedIn,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Number of entries to skip at the start.' }) },
      resolve: (_root, args, { services, viewer }) =>
        listConnection(services.projects.visibleTo(viewer), args, 'Project'),
    },
    {
      name: 'ProjectConnection',
      description: 'A page of projects.',
      fields: (page) => totalCount(page, 'Number of projects in which the caller has a role, on all pages.'),
    },
    { name: 'ProjectEdge' },
  ),
}));
