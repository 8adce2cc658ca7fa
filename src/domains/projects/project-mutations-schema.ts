import { builder, inProject, person } from '../../gateway/graphql/builder.ts';
import { idPayload, inputArgument, payloadsWith } from '../../gateway/graphql/payloads.ts';
import { requireSignedIn } from '../../platform/auth/viewer.ts';
import { USER_EMAIL, User } from '../users/user-schema.ts';
import type { ProjectRecord } from './project-cache.ts';
import {
  PROJECT_DESCRIPTION,
  PROJECT_ID,
  PROJECT_NAME,
  Project,
  ProjectMember,
  ProjectRole,
  STRICT_ROLES,
} from './project-schema.ts';

const CreateProjectInput = builder.inputType('CreateProjectInput', {
  description: 'A new project.',
  fields: (t) => ({
    name: t.string({ required: true, description: PROJECT_NAME }),
    description: t.string({ description: PROJECT_DESCRIPTION }),
    organizationId: t.id({
      description: 'Organization that owns the project instead of the caller. The caller must be one of its owners.',
    }),
    hasStrictRoles: t.boolean({ description: STRICT_ROLES }),
  }),
});
const UpdateProjectInput = builder.inputType('UpdateProjectInput', {
  description: 'Changes of a project. Absent fields and null do not change.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: PROJECT_ID }),
    name: t.string({ description: PROJECT_NAME }),
    description: t.string({ description: 'Text for users, at most 4,000 characters.' }),
    hasStrictRoles: t.boolean({ description: STRICT_ROLES }),
    storesTopicPayloads: t.boolean({
      description: 'Whether topic trees store and show payloads. False also deletes the stored payloads.',
    }),
    storesClusterPasswords: t.boolean({
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

const projectPayload = payloadsWith<{ readonly project: ProjectRecord }>({
  description: 'The project that was created or changed.',
  fields: (t) => ({ project: t.expose('project', { description: 'The project after the change.', type: Project }) }),
});
const DeleteProjectPayload = idPayload(
  'deleteProject',
  'deletedProjectId',
  'The project that was deleted.',
  'Id of the deleted project.',
);
const SetProjectMemberPayload = builder
  .objectRef<{ readonly member: typeof ProjectMember.$inferType }>('SetProjectMemberPayload')
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

builder.mutationFields((t) => ({
  createProject: t.field({
    description: 'Creates a project with the caller as its administrator.',
    type: projectPayload('createProject'),
    ...person,
    args: inputArgument(CreateProjectInput, 'The new project.'),
    resolve: async (_root, { input: { hasStrictRoles: strictRoles, ...input } }, context) => {
      const { services, viewer } = context;
      const project = await services.projects.create({ ...input, strictRoles }, viewer);
      context.viewer = await services.auth.refreshed(requireSignedIn(viewer));
      return { project };
    },
  }),
  updateProject: t.field({
    description: 'Changes a project. Absent fields do not change.',
    type: projectPayload('updateProject'),
    ...inProject('ADMIN'),
    args: inputArgument(UpdateProjectInput, 'The project and the changes.'),
    resolve: async (_root, { input: { projectId, name, description, ...settings } }, { services }) => ({
      project: await services.projects.update(projectId, {
        name,
        description,
        strictRoles: settings.hasStrictRoles,
        topicPayloads: settings.storesTopicPayloads,
        clusterPasswords: settings.storesClusterPasswords,
      }),
    }),
  }),
  deleteProject: t.field({
    description: 'Deletes the project with its brokers, members and tokens.',
    type: DeleteProjectPayload,
    ...inProject('ADMIN'),
    args: inputArgument(DeleteProjectInput, 'The project to delete.'),
    resolve: async (_root, { input }, { services }) => {
      await services.projects.remove(input.projectId);
      return { deletedProjectId: input.projectId };
    },
  }),
  setProjectMember: t.field({
    description: 'Adds a member to a project, or changes the role of a member. Not with a token.',
    type: SetProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: inputArgument(SetProjectMemberInput, 'The user and the role.'),
    resolve: async (_root, { input: { projectId, email, role } }, { services }) => ({
      member: await services.projects.setMember(projectId, email, role),
    }),
  }),
  removeProjectMember: t.field({
    description: 'Removes a member. Subscriptions of the member to the project end. Not with a token.',
    type: RemoveProjectMemberPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: inputArgument(RemoveProjectMemberInput, 'The member to remove.'),
    resolve: async (_root, { input: { projectId, email } }, { services }) => ({
      user: await services.projects.removeMember(projectId, email),
    }),
  }),
}));
