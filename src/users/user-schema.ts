import { builder, rootAdmin } from '../graphql/builder.ts';
import { Node } from '../graphql/node.ts';

export const User = builder.prismaObject('User', {
  description: 'A person who may sign in.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    email: t.exposeString('email', { description: 'Lower case; the log-in name.' }),
    name: t.exposeString('name'),
    isRootAdmin: t.exposeBoolean('isRoot', {
      description: 'May do everything, and counts as administrator of each project.',
    }),
    verified: t.exposeBoolean('verified'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

const CreateUserInput = builder.inputType('CreateUserInput', {
  fields: (t) => ({
    email: t.string({ required: true }),
    name: t.string(),
    password: t.string({
      description: 'At least 8 characters. Without one the person cannot sign in until it is set.',
    }),
    isRootAdmin: t.boolean(),
  }),
});

export const UserPayload = builder.objectRef<{ readonly userId: string }>('UserPayload').implement({
  fields: (t) => ({
    user: t.prismaField({
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
  }),
});

const DeleteUserInput = builder.inputType('DeleteUserInput', {
  fields: (t) => ({ userId: t.id({ required: true }) }),
});

const DeleteUserPayload = builder.objectRef<{ readonly deletedUserId: string }>('DeleteUserPayload').implement({
  fields: (t) => ({ deletedUserId: t.exposeID('deletedUserId') }),
});

const ResetUserPasswordInput = builder.inputType('ResetUserPasswordInput', {
  fields: (t) => ({
    email: t.string({ required: true }),
    password: t.string({ required: true, description: 'At least 8 characters.' }),
  }),
});

builder.queryFields((t) => ({
  user: t.prismaField({
    description: 'Null: nobody has this id.',
    type: 'User',
    nullable: true,
    ...rootAdmin,
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, { db }) => db.user.findUnique({ ...query, where: { id } }),
  }),
  users: t.prismaConnection(
    {
      description: 'Everybody who has an account, in order of creation.',
      type: 'User',
      cursor: 'id',
      ...rootAdmin,
      resolve: (query, _root, _args, { db }) => db.user.findMany({ ...query, orderBy: { id: 'asc' } }),
      totalCount: (_root, _args, { db }) => db.user.count(),
    },
    { name: 'UserConnection' },
    { name: 'UserEdge' },
  ),
}));

builder.mutationFields((t) => ({
  createUser: t.field({
    description: 'Makes an account that can sign in.',
    type: UserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: CreateUserInput, required: true }) },
    resolve: async (_root, { input }, { services }) => ({ userId: (await services.users.create(input)).id }),
  }),
  deleteUser: t.field({
    description:
      'Refused for the last root administrator, owners of projects, and the last owner of an organisation (IN_USE).',
    type: DeleteUserPayload,
    ...rootAdmin,
    args: { input: t.arg({ type: DeleteUserInput, required: true }) },
    resolve: async (_root, { input }, { services }) => {
      await services.users.remove(input.userId);
      return { deletedUserId: input.userId };
    },
  }),
  resetUserPassword: t.field({
    description: 'Sets a person’s password and ends the person’s sessions.',
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
