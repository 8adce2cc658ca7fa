import { builder, rootAdmin } from '../../gateway/graphql/builder.ts';
import { SignInProvider, UserPayload } from './user-schema.ts';

const CreateUserInput = builder.inputType('CreateUserInput', {
  fields: (t) => ({
    email: t.string({ required: true }),
    name: t.string({ description: 'Without it: first and last name, else what the address begins with.' }),
    firstName: t.string({ description: 'Becomes part of the name.' }),
    lastName: t.string({ description: 'Becomes part of the name.' }),
    password: t.string({
      description:
        'At least 8 characters. Without one the person cannot sign in here until it is set. With `ssoType` it is not kept.',
    }),
    verified: t.boolean({ description: 'Somebody has made sure that the address is the person’s. Default: false.' }),
    ssoType: t.field({ type: SignInProvider, description: 'Where the person signs in instead of here.' }),
    isRootAdmin: t.boolean(),
  }),
});

const UpdateUserInput = builder.inputType('UpdateUserInput', {
  description: 'What changes of an account; what is not given stays.',
  fields: (t) => ({
    userId: t.id({ required: true, description: 'Of the person.' }),
    name: t.string({ description: 'To be shown.' }),
    verified: t.boolean({ description: 'Somebody has made sure that the address is the person’s.' }),
    ssoType: t.field({
      type: SignInProvider,
      description:
        'Null: signs in here from now on, once a password is set. A change of it removes the password and ends the sessions.',
    }),
  }),
});

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  fields: (t) => ({
    userId: t.id({ required: true }),
    handOverTo: t.id({
      description:
        'The person who becomes the owner of the projects, and of organisations that would be left without one. Without it an owner is not removed.',
    }),
  }),
});

const DeleteUserPayload = builder
  .objectRef<{ readonly deletedUserId: string; readonly handedOverProjectIds: readonly string[] }>('DeleteUserPayload')
  .implement({
    fields: (t) => ({
      deletedUserId: t.exposeID('deletedUserId'),
      handedOverProjectIds: t.idList({
        description: 'Projects that have a new owner.',
        resolve: ({ handedOverProjectIds }) => [...handedOverProjectIds],
      }),
    }),
  });

const SetRootAdminInput = builder.inputType('SetRootAdminInput', {
  description: 'Who is a root administrator, or is one no longer.',
  fields: (t) => ({
    email: t.string({ required: true, description: 'Of the person.' }),
    isRootAdmin: t.boolean({ required: true, description: 'False: the role is taken away.' }),
  }),
});

const ResetUserPasswordInput = builder.inputType('ResetUserPasswordInput', {
  fields: (t) => ({
    email: t.string({ required: true }),
    password: t.string({ required: true, description: 'At least 8 characters.' }),
  }),
});

builder.mutationFields((t) => ({
  createUser: t.field({
    description: 'Makes an account.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: CreateUserInput, required: true }) },
    resolve: async (_root, { input }, { services }) => ({ userId: (await services.users.create(input)).id }),
  }),
  updateUser: t.field({
    description: 'Only what is given changes.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: UpdateUserInput, required: true, description: 'Who, and what.' }) },
    resolve: async (_root, { input: { userId, ...change } }, { services }) => {
      await services.users.update(userId, change);
      return { userId };
    },
  }),
  deleteUser: t.field({
    description:
      'Refused for the last root administrator who can sign in (LAST_ADMINISTRATOR), and, unless somebody takes over, for owners of projects and the last owner of an organisation (IN_USE).',
    type: DeleteUserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: DeleteUserInput, required: true }) },
    resolve: async (_root, { input: { userId, handOverTo } }, { services }) => {
      const { projects } = await services.users.remove(userId, handOverTo ?? null);
      return { deletedUserId: userId, handedOverProjectIds: projects.map(({ id }) => id) };
    },
  }),
  setRootAdmin: t.field({
    description:
      'Makes somebody a root administrator, or takes the role away, at once; not from the last one who can sign in (LAST_ADMINISTRATOR).',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: SetRootAdminInput, required: true, description: 'Who, and whether.' }) },
    resolve: async (_root, { input: { email, isRootAdmin } }, context) => {
      const { services, viewer } = context;
      const userId = await services.users.setRootAdmin(email, isRootAdmin);
      if (viewer?.kind === 'USER' && viewer.id === userId) context.viewer = await services.auth.refreshed(viewer);
      return { userId };
    },
  }),
  resetUserPassword: t.field({
    description: 'Sets a person’s password and ends the person’s sessions. Not for people who sign in elsewhere.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: ResetUserPasswordInput, required: true }) },
    resolve: async (_root, { input: { email, password } }, { services }) => {
      const { id } = await services.users.byEmail(email);
      await services.users.setPassword(id, password);
      return { userId: id };
    },
  }),
}));
