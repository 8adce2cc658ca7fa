import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import { inputArgument } from '../../gateway/graphql/payloads.ts';
import { SignInProvider, USER_EMAIL, userPayload } from './user-schema.ts';

const CreateUserInput = builder.inputType('CreateUserInput', {
  description: 'A new account.',
  fields: (t) => ({
    email: t.string({
      required: true,
      description: 'E-mail address, stored in lower case. No other user may have it.',
    }),
    name: t.string({
      description: 'Default: first and last name; without these the part of the address before the `@`.',
    }),
    firstName: t.string({ description: 'Becomes part of the name.' }),
    lastName: t.string({ description: 'Becomes part of the name.' }),
    password: t.string({
      description:
        'At least 8 characters. Without a password the user cannot sign in locally until one is set. Not stored if `ssoType` is set.',
    }),
    isVerified: t.boolean({ description: 'Whether the e-mail address is verified. Default: false.' }),
    ssoType: t.field({
      type: SignInProvider,
      description: 'External provider at which the user signs in. Default: none.',
    }),
    isRootAdmin: t.boolean({ description: 'Whether the user becomes a root administrator. Default: false.' }),
  }),
});

const UpdateUserInput = builder.inputType('UpdateUserInput', {
  description: 'Changes of an account. Absent fields do not change.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Id of the user.' }),
    name: t.string({ description: 'Display name.' }),
    isVerified: t.boolean({ description: 'Whether the e-mail address is verified.' }),
    isSecondFactorRequired: t.boolean({
      description:
        'Whether a sign-in with a password here requires a second factor. Without one the user has no roles.',
    }),
    ssoType: t.field({
      type: SignInProvider,
      description:
        'External provider, or null for a local sign-in after a password is set. A change deletes the password and ends the sessions.',
    }),
  }),
});

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  description: 'The user to delete, and the new owner of the projects.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Id of the user.' }),
    handOverTo: t.id({
      description:
        'Id of the user who becomes the owner of the projects, and of organizations without another owner. Without it an owner is not deleted.',
    }),
  }),
});

const DeleteUserPayload = builder
  .objectRef<{ readonly deletedUserId: string; readonly handedOverProjectIds: readonly string[] }>('DeleteUserPayload')
  .implement({
    description: 'The user whose account was deleted.',
    fields: (t) => ({
      deletedUserId: t.exposeID('deletedUserId', { description: 'Id of the deleted account.' }),
      handedOverProjectIds: t.idList({
        description: 'Projects with a new owner.',
        resolve: ({ handedOverProjectIds }) => [...handedOverProjectIds],
      }),
    }),
  });

const SetRootAdminInput = builder.inputType('SetRootAdminInput', {
  description: 'Grants or revokes root administration.',
  fields: (t) => ({
    email: t.string({ required: true, description: USER_EMAIL }),
    isRootAdmin: t.boolean({ required: true, description: 'Whether the user has the role.' }),
  }),
});

const ResetUserPasswordInput = builder.inputType('ResetUserPasswordInput', {
  description: 'A user and the new password.',
  fields: (t) => ({
    email: t.string({ required: true, description: USER_EMAIL }),
    password: t.string({ required: true, description: 'At least 8 characters.' }),
  }),
});

builder.mutationFields((t) => ({
  createUser: t.field({
    description: 'Creates an account.',
    type: userPayload('createUser'),
    ...rootAdmin,
    args: inputArgument(CreateUserInput, 'The new account.'),
    resolve: async (_root, { input: { isVerified: verified, ...user } }, { services }) => ({
      userId: (await services.users.create({ ...user, verified })).id,
    }),
  }),
  updateUser: t.field({
    description: 'Changes an account. Absent fields do not change.',
    type: userPayload('updateUser'),
    ...rootAdmin,
    args: inputArgument(UpdateUserInput, 'The user and the changes.'),
    resolve: async (_root, { input }, { services }) => {
      const { userId, isVerified: verified, isSecondFactorRequired: needsTotp, ...change } = input;
      await services.users.update(userId, { ...change, verified, needsTotp });
      return { userId };
    },
  }),
  deleteUser: t.field({
    description:
      'Refused for the last root administrator who can sign in (LAST_ADMINISTRATOR). Without `handOverTo` also refused for owners of projects and the last owner of an organization (IN_USE).',
    type: DeleteUserPayload,
    ...rootAdmin,
    args: inputArgument(DeleteUserInput, 'The user and the new owner of the projects.'),
    resolve: async (_root, { input: { userId, handOverTo } }, { services }) => {
      const { projects } = await services.users.remove(userId, handOverTo ?? null);
      await services.projects.settled();
      return { deletedUserId: userId, handedOverProjectIds: projects.map(({ id }) => id) };
    },
  }),
  setRootAdmin: t.field({
    description:
      'Grants or revokes root administration immediately. Refused for the last root administrator who can sign in (LAST_ADMINISTRATOR).',
    type: userPayload('setRootAdmin'),
    ...rootAdmin,
    args: inputArgument(SetRootAdminInput, 'The user and the role.'),
    resolve: async (_root, { input: { email, isRootAdmin } }, context) => {
      const { services, viewer } = context;
      const userId = await services.users.setRootAdmin(email, isRootAdmin);
      if (viewer?.kind === 'USER' && viewer.id === userId) context.viewer = await services.auth.refreshed(viewer);
      return { userId };
    },
  }),
  resetUserPassword: t.field({
    description: 'Sets the password of a user and ends the user’s sessions. Not for users of an external provider.',
    type: userPayload('resetUserPassword'),
    ...rootAdmin,
    args: inputArgument(ResetUserPasswordInput, 'The user and the new password.'),
    resolve: async (_root, { input: { email, password } }, { services }) => {
      const { id } = await services.users.byEmail(email);
      await services.users.setPassword(id, password);
      return { userId: id };
    },
  }),
}));
