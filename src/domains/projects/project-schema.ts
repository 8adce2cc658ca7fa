import { builder, checkedByService, inProject, person, requires, signedIn } from '../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { belongsToProject } from '../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../gateway/graphql/viewer-can.ts';
import { listConnection } from '../../gateway/paging.ts';
import { requireSignedIn, requireWholeProject } from '../../platform/auth/viewer.ts';
import { User } from '../users/user-schema.ts';
import type { ProjectRecord } from './project-cache.ts';

export const ProjectRole = builder.enumType('ProjectRole', {
  description: 'A role in a project. A higher role includes the lower ones: VIEWER < EDITOR < ADMIN.',
  values: ['ADMIN', 'EDITOR', 'VIEWER'] as const,
});

const ProjectOwner = builder.objectRef<ProjectRecord>('ProjectOwner').implement({
  description: 'The user or the organisation that owns a project.',
  fields: (t) => ({
    userId: t.exposeID('ownerUserId', { nullable: true }),
    organizationId: t.exposeID('ownerOrganisationId', { nullable: true }),
    name: t.exposeString('ownerName'),
  }),
});

const ProjectMember = builder.prismaObject('ProjectMember', {
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  select: { projectId: true },
  fields: (t) => ({
    user: t.relation('user'),
    role: t.expose('role', { type: ProjectRole }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

/** Its values are cached rows. Relations are read from the database, for all projects of a list at once. */
export const Project = builder.prismaObject('Project', {
  description: 'A group of brokers with its own members and tokens.',
  ...belongsToProject(({ id }: { readonly id: string }) => id),
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name'),
    description: t.exposeString('description'),
    owner: t.field({
      type: ProjectOwner,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.visible(id, viewer),
    }),
    ownerUserId: t.exposeID('ownerUserId', { nullable: true }),
    viewerRole: t.field({
      description: 'The role of the caller. ADMIN for root administrators.',
      type: ProjectRole,
      resolve: ({ id }, _args, { services, viewer }) => services.projects.roleOf(viewer, id) ?? 'VIEWER',
    }),
    members: t.relatedConnection(
      'members',
      {
        description: 'The members of the project. Not for tokens that are restricted to brokers.',
        ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
        authScopes: (_project, _args, { viewer }) => {
          requireWholeProject(requireSignedIn(viewer));
          return true;
        },
        cursor: 'projectId_userId',
        totalCount: true,
        query: { orderBy: [{ createdAt: 'asc' }, { userId: 'asc' }] },
      },
      { name: 'ProjectMemberConnection' },
      { name: 'ProjectMemberEdge' },
    ),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

findsNode('project', (id, { services, viewer }) => services.projects.visible(id, viewer));

const ProjectSettings = builder.objectRef<ProjectRecord>('ProjectSettings').implement({
  ...belongsToProject(({ id }: ProjectRecord) => id),
  description: 'The settings of a project.',
  fields: (t) => ({
    strictRoles: t.exposeBoolean('strictRoles', {
      description: 'Whether writing operations require EDITOR also where the REST interface documents Viewer.',
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
  fields: (t) => ({
    name: t.string({ required: true }),
    description: t.string(),
    organizationId: t.id({
      description: 'Organisation that owns the project instead of the caller. The caller must be one of its owners.',
    }),
  }),
});
const UpdateProjectInput = builder.inputType('UpdateProjectInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    name: t.string(),
    description: t.string(),
    strictRoles: t.boolean(),
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
  fields: (t) => ({ projectId: t.id({ required: true }) }),
});
const SetProjectMemberInput = builder.inputType('SetProjectMemberInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    email: t.string({ required: true }),
    role: t.field({ type: ProjectRole, required: true }),
  }),
});
const RemoveProjectMemberInput = builder.inputType('RemoveProjectMemberInput', {
  fields: (t) => ({ projectId: t.id({ required: true }), email: t.string({ required: true }) }),
});

const ProjectPayload = builder.objectRef<{ readonly project: ProjectRecord }>('ProjectPayload').implement({
  fields: (t) => ({ project: t.expose('project', { type: Project }) }),
});
const DeleteProjectPayload = builder
  .objectRef<{ readonly deletedProjectId: string }>('DeleteProjectPayload')
  .implement({
    fields: (t) => ({ deletedProjectId: t.exposeID('deletedProjectId') }),
  });
const ProjectMemberPayload = builder
  .objectRef<{ readonly member: typeof ProjectMember.$inferType }>('ProjectMemberPayload')
  .implement({ fields: (t) => ({ member: t.expose('member', { type: ProjectMember }) }) });
const RemoveProjectMemberPayload = builder
  .objectRef<{ readonly user: typeof User.$inferType }>('RemoveProjectMemberPayload')
  .implement({ fields: (t) => ({ user: t.expose('user', { type: User }) }) });

builder.queryFields((t) => ({
  project: t.field({
    description: 'A project, or null with NOT_FOUND if the caller has no role in a project with this id.',
    type: Project,
    nullable: true,
    ...checkedByService('VIEWER'),
    args: { id: t.arg.id({ required: true }) },
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
    { name: 'ProjectConnection', fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }) },
    { name: 'ProjectEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createProject: t.field({
    description: 'Creates a project with the caller as its administrator.',
    type: ProjectPayload,
    ...person,
    args: { input: t.arg({ type: CreateProjectInput, required: true }) },
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
    args: { input: t.arg({ type: UpdateProjectInput, required: true }) },
    resolve: async (_root, { input: { projectId, ...change } }, { services }) => ({
      project: await services.projects.update(projectId, change),
    }),
  }),
  deleteProject: t.field({
    description: 'Deletes the project with its brokers, members and tokens.',
    type: DeleteProjectPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: DeleteProjectInput, required: true }) },
    resolve: async (_root, { input }, { services }) => {
      await services.projects.remove(input.projectId);
      return { deletedProjectId: input.projectId };
    },
  }),
  setProjectMember: t.field({
    description: 'Adds a member to a project, or changes the role of a member. Not with a token.',
    type: ProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: { input: t.arg({ type: SetProjectMemberInput, required: true }) },
    resolve: async (_root, { input: { projectId, email, role } }, { services }) => ({
      member: await services.projects.setMember(projectId, email, role),
    }),
  }),
  removeProjectMember: t.field({
    description: 'Removes a member. Subscriptions of the member to the project end. Not with a token.',
    type: RemoveProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: { input: t.arg({ type: RemoveProjectMemberInput, required: true }) },
    resolve: async (_root, { input: { projectId, email } }, { services }) => ({
      user: await services.projects.removeMember(projectId, email),
    }),
  }),
}));
