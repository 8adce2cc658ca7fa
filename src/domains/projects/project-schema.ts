import { builder, checkedByService, inProject, person, requires, signedIn } from '../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { totalCount } from '../../gateway/graphql/total-count.ts';
import { belongsToProject } from '../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import { listConnection } from '../../gateway/paging.ts';
import { requireSignedIn, requireWholeProject } from '../../platform/auth/viewer.ts';
import { USER_EMAIL, User } from '../users/user-schema.ts';
import type { ProjectRecord } from './project-cache.ts';

export const ProjectRole = builder.enumType('ProjectRole', {
  description: 'A role in a project. A higher role includes the lower ones: VIEWER < EDITOR < ADMIN.',
  values: {
    ADMIN: {
      description:
        'Also adds and removes brokers, members and tokens, changes access rules on `$CONTROL/` topics, and reads the audit. Owners of the project have this role.',
    },
    EDITOR: { description: 'Also changes the settings of brokers, and reads payloads in topic trees.' },
    VIEWER: {
      description:
        'Reads the project and its brokers. Without `strictRoles` also changes what a broker stores, such as its access control.',
    },
  } as const,
});

const OWNER_USER = 'Id of the user who owns the project. Null if an organisation owns it.';

const ProjectOwner = builder.objectRef<ProjectRecord>('ProjectOwner').implement({
  description: 'The user or the organisation that owns a project.',
  fields: (t) => ({
    userId: t.exposeID('ownerUserId', { description: OWNER_USER, nullable: true }),
    organizationId: t.exposeID('ownerOrganisationId', {
      description: 'Id of the organisation that owns the project. Null if a user owns it.',
      nullable: true,
    }),
    name: t.exposeString('ownerName', { description: 'Name of the user or of the organisation.' }),
  }),
});

const ProjectMember = builder.prismaObject('ProjectMember', {
  description: 'A user with a role in a project.',
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  select: { projectId: true },
  fields: (t) => ({
    user: t.relation('user', { description: 'The account of the member.' }),
    role: t.expose('role', { description: 'Role of the member in the project.', type: ProjectRole }),
    createdAt: t.expose('createdAt', { description: 'Time at which the member was added.', type: 'DateTime' }),
  }),
});

const NAME = 'Name of the project: 1 to 200 characters. It need not be unique.';
const DESCRIPTION = 'Text for users, at most 4,000 characters. Default: empty.';
const PROJECT_ID = 'Id of the project: `prj_…`.';

/** Its values are cached rows. Relations are read from the database, for all projects of a list at once. */
export const Project = builder.prismaObject('Project', {
  description: 'A group of brokers with its own members and tokens.',
  ...belongsToProject(({ id }: { readonly id: string }) => id),
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: NAME }),
    description: t.exposeString('description', { description: DESCRIPTION }),
    owner: t.field({
      description: 'The user or the organisation that owns the project.',
      type: ProjectOwner,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
    }),
    ownerUserId: t.exposeID('ownerUserId', { description: OWNER_USER, nullable: true }),
    viewerRole: t.field({
      description: 'The role of the caller. ADMIN for root administrators.',
      type: ProjectRole,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.roleOf(viewer, id) ?? 'VIEWER',
    }),
    members: t.relatedConnection(
      'members',
      {
        description:
          'The members of the project in the order in which they were added. A page has at most 100 entries. Default: 20. Not for tokens that are restricted to brokers.',
        ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
        authScopes: (_project, _args, { viewer }) => {
          requireWholeProject(requireSignedIn(viewer));
          return true;
        },
        cursor: 'projectId_userId',
        totalCount: true,
        query: { orderBy: [{ createdAt: 'asc' }, { userId: 'asc' }] },
      },
      {
        name: 'ProjectMemberConnection',
        description: 'A page of the members of a project.',
        fields: (connection) => ({ totalCount: totalCount(connection, 'Number of members on all pages.') }),
      },
      { name: 'ProjectMemberEdge' },
    ),
    createdAt: t.expose('createdAt', { description: 'Time at which the project was created.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', {
      description: 'Time of the last change of the name, the description or the settings.',
      type: 'DateTime',
    }),
  }),
});

findsNode('project', (id, { services, viewer }) => services.projects.visible(id, viewer));

const STRICT_ROLES =
  'Whether writing operations require EDITOR also where the REST interface documents Viewer. Default for a new project: STRICT_ROLES of the service.';

const ProjectSettings = builder.objectRef<ProjectRecord>('ProjectSettings').implement({
  ...belongsToProject(({ id }: ProjectRecord) => id),
  description: 'The settings of a project.',
  fields: (t) => ({
    strictRoles: t.exposeBoolean('strictRoles', {
      description: STRICT_ROLES,
    }),
    topicPayloads: t.exposeBoolean('topicPayloads', {
      description: 'Whether the topic trees of the brokers store the beginning of the last payload of each topic.',
    }),
    clusterPasswords: t.exposeBoolean('clusterPasswords', {
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

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description: 'A new project.',
  fields: (t) => ({
    name: t.string({ required: true, description: NAME }),
    description: t.string({ description: DESCRIPTION }),
    organizationId: t.id({
      description: 'Organisation that owns the project instead of the caller. The caller must be one of its owners.',
    }),
  }),
});
const UpdateProjectInput = builder.inputType('UpdateProjectInput', {
  description: 'Changes of a project. Absent fields and null do not change.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    name: t.string({ description: NAME }),
    description: t.string({ description: 'Text for users, at most 4,000 characters.' }),
    strictRoles: t.boolean({ description: STRICT_ROLES }),
    topicPayloads: t.boolean({
      description: 'Whether topic trees store and show payloads. False also deletes the stored payloads.',
    }),
    clusterPasswords: t.boolean({
      description:
        'Whether passwords that are set on clusters are stored encrypted. False also deletes the stored passwords.',
    }),
  }),
});
const DeleteProjectInput = builder.inputType('DeleteProjectInput', {
  description: 'The project to delete.',
  fields: (t) => ({ projectId: t.id({ required: true, description: PROJECT_ID }) }),
});
const SetProjectMemberInput = builder.inputType('SetProjectMemberInput', {
  description: 'A user and the role in the project.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
    role: t.field({ type: ProjectRole, required: true, description: 'It replaces the previous role of a member.' }),
  }),
});
const RemoveProjectMemberInput = builder.inputType('RemoveProjectMemberInput', {
  description: 'The member to remove.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    email: t.string({ required: true, description: USER_EMAIL }),
  }),
});

const ProjectPayload = builder.objectRef<{ readonly project: ProjectRecord }>('ProjectPayload').implement({
  description: 'The project that was created or changed.',
  fields: (t) => ({ project: t.expose('project', { description: 'The project after the change.', type: Project }) }),
});
const DeleteProjectPayload = builder
  .objectRef<{ readonly deletedProjectId: string }>('DeleteProjectPayload')
  .implement({
    description: 'The project that was deleted.',
    fields: (t) => ({
      deletedProjectId: t.exposeID('deletedProjectId', { description: 'Id of the deleted project.' }),
    }),
  });
const ProjectMemberPayload = builder
  .objectRef<{ readonly member: typeof ProjectMember.$inferType }>('ProjectMemberPayload')
  .implement({
    description: 'The member that was added or changed.',
    fields: (t) => ({
      member: t.expose('member', { description: 'The member with the new role.', type: ProjectMember }),
    }),
  });
const RemoveProjectMemberPayload = builder
  .objectRef<{ readonly user: typeof User.$inferType }>('RemoveProjectMemberPayload')
  .implement({
    description: 'The member that was removed.',
    fields: (t) => ({ user: t.expose('user', { description: 'The account, which remains.', type: User }) }),
  });

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
      resolve: (_root, args, { services, viewer }) => listConnection(services.projects.visibleTo(viewer), args),
    },
    {
      name: 'ProjectConnection',
      description: 'A page of projects.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', {
          description: 'Number of projects in which the caller has a role, on all pages.',
        }),
      }),
    },
    { name: 'ProjectEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createProject: t.field({
    description: 'Creates a project with the caller as its administrator.',
    type: ProjectPayload,
    ...person,
    args: { input: t.arg({ type: CreateProjectInput, required: true, description: 'The new project.' }) },
    resolve: async (_root, { input: { name, description, organizationId } }, context) => {
      const { services, viewer } = context;
      const project = await services.projects.create({ name, description, organisationId: organizationId }, viewer);
      context.viewer = await services.auth.refreshed(requireSignedIn(viewer));
      return { project };
    },
  }),
  updateProject: t.field({
    description: 'Changes a project. Absent fields do not change.',
    type: ProjectPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: UpdateProjectInput, required: true, description: 'The project and the changes.' }) },
    resolve: async (_root, { input: { projectId, ...change } }, { services }) => ({
      project: await services.projects.update(projectId, change),
    }),
  }),
  deleteProject: t.field({
    description: 'Deletes the project with its brokers, members and tokens.',
    type: DeleteProjectPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: DeleteProjectInput, required: true, description: 'The project to delete.' }) },
    resolve: async (_root, { input }, { services }) => {
      await services.projects.remove(input.projectId);
      return { deletedProjectId: input.projectId };
    },
  }),
  setProjectMember: t.field({
    description: 'Adds a member to a project, or changes the role of a member. Not with a token.',
    type: ProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: { input: t.arg({ type: SetProjectMemberInput, required: true, description: 'The user and the role.' }) },
    resolve: async (_root, { input: { projectId, email, role } }, { services }) => ({
      member: await services.projects.setMember(projectId, email, role),
    }),
  }),
  removeProjectMember: t.field({
    description: 'Removes a member. Subscriptions of the member to the project end. Not with a token.',
    type: RemoveProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: { input: t.arg({ type: RemoveProjectMemberInput, required: true, description: 'The member to remove.' }) },
    resolve: async (_root, { input: { projectId, email } }, { services }) => ({
      user: await services.projects.removeMember(projectId, email),
    }),
  }),
}));
