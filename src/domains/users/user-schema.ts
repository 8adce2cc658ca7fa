import { builder, requires, rootAdmin } from '../../gateway/graphql/builder.ts';
import { Node } from '../../gateway/graphql/node.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { checkedPage, DEFAULT_PAGE, MAX_PAGE, type PageArguments } from '../../gateway/paging.ts';
import { requireRootAdmin, requireSignedIn } from '../../platform/auth/viewer.ts';
import { orderOf, whereOf } from './user-list.ts';

export const SignInProvider = builder.enumType('SignInProvider', {
  description: 'Where people sign in who have no password here.',
  values: {
    SSO: { value: 'sso', description: 'The OpenID provider.' },
    LDAP: { value: 'ldap', description: 'The directory.' },
  } as const,
});

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
    verified: t.exposeBoolean('verified', { description: 'Somebody has made sure that the address is the person’s.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

/** What a root administrator is told of people, and members of their projects are not. */
builder.prismaObjectFields(User, (t) => ({
  ssoType: t.field({
    description: 'Where the person signs in; null: here, with a password. For the person and root administrators.',
    type: SignInProvider,
    nullable: true,
    authScopes: ({ id }, _args, { viewer }) => {
      const known = requireSignedIn(viewer);
      if (known.id !== id) requireRootAdmin(known);
      return true;
    },
    ...requires('PERSON'),
    select: { id: true, ssoType: true },
    resolve: ({ ssoType }) => ssoType as 'ldap' | 'sso' | null,
  }),
  isRemovable: t.boolean({
    description:
      'False for the last root administrator who can sign in, and with LOCAL_LOGIN=off for the one for emergencies: neither the account nor the role can be taken.',
    ...rootAdmin,
    select: { email: true, isRoot: true, passwordHash: true, ssoType: true },
    resolve: (user, _args, { services }) => services.users.isRemovable(user),
  }),
  projectCount: t.relationCount('projects', { description: 'Projects that belong to the person.', ...rootAdmin }),
  brokerCount: t.int({
    description: 'Brokers in the projects that belong to the person.',
    ...rootAdmin,
    select: { projects: { select: { _count: { select: { brokers: true } } } } },
    resolve: ({ projects }) => projects.reduce((sum, { _count }) => sum + _count.brokers, 0),
  }),
}));

export const UserPayload = builder.objectRef<{ readonly userId: string }>('UserPayload').implement({
  fields: (t) => ({
    user: t.prismaField({
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
  }),
});

const UserSortField = builder.enumType('UserSortField', {
  description: 'What a list of people is sorted by.',
  values: {
    CREATED_AT: { description: 'When the account was made.' },
    NAME: { description: 'As the database sorts texts.' },
    EMAIL: { description: 'The address.' },
  } as const,
});

const SortOrder = builder.enumType('SortOrder', {
  description: 'Which end of a list comes first.',
  values: {
    ASC: { description: 'The least, or the oldest.', value: 'asc' },
    DESC: { description: 'The greatest, or the newest.', value: 'desc' },
  } as const,
});

const UserFilterInput = builder.inputType('UserFilter', {
  description: 'People to whom all that is given applies.',
  fields: (t) => ({
    text: t.string({ description: 'Part of the address, in either case, or of the name as it is written.' }),
    isRootAdmin: t.boolean({ description: 'Only root administrators, or only the others.' }),
    verified: t.boolean({ description: 'Only people whose address is verified, or only the others.' }),
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
      description: 'Everybody who has an account, by default in order of creation.',
      type: 'User',
      cursor: 'id',
      defaultSize: DEFAULT_PAGE,
      maxSize: MAX_PAGE,
      complexity: pageCost,
      ...rootAdmin,
      args: {
        filter: t.arg({ type: UserFilterInput, description: 'Without it: all.' }),
        sortField: t.arg({
          type: UserSortField,
          required: true,
          defaultValue: 'CREATED_AT',
          description: 'What they are sorted by.',
        }),
        sortOrder: t.arg({
          type: SortOrder,
          required: true,
          defaultValue: 'asc',
          description: 'Which end comes first.',
        }),
        offset: t.arg.int({ description: 'Entries left out at the start (after `after`).' }),
      },
      resolve: async (query, _root, args, { db }) => {
        checkedPage(args);
        return db.user.findMany({
          ...query,
          skip: query.skip + (args.offset ?? 0),
          where: await whereOf(db, args.filter ?? {}),
          orderBy: orderOf(args.sortField, args.sortOrder),
        });
      },
      totalCount: async (_root, { filter }, { db }) => db.user.count({ where: await whereOf(db, filter ?? {}) }),
    },
    {
      name: 'UserConnection',
      fields: (connection) => ({
        page: connection.int({
          description: 'How many pages of this size are before it, for those who count pages.',
          resolve: ({ args: { offset }, args }) => Math.floor((offset ?? 0) / Math.max(sizeOf(args), 1)),
        }),
        pageSize: connection.int({
          description: 'So many entries at most were asked for.',
          resolve: ({ args }) => sizeOf(args),
        }),
        sortField: connection.field({
          description: 'What they are sorted by.',
          type: UserSortField,
          resolve: ({ args }) => args.sortField,
        }),
        sortOrder: connection.field({
          description: 'Which end comes first.',
          type: SortOrder,
          resolve: ({ args }) => args.sortOrder,
        }),
      }),
    },
    { name: 'UserEdge' },
  ),
}));

const sizeOf = ({ first, last }: PageArguments): number => first ?? last ?? DEFAULT_PAGE;
