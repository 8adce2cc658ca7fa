import type { RequestContext } from '../../gateway/context.ts';
import { builder, requires, rootAdmin } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../gateway/graphql/node.ts';
import { pageCost } from '../../gateway/graphql/page-cost.ts';
import { payloadsWith } from '../../gateway/graphql/payloads.ts';
import { rowConnection } from '../../gateway/graphql/row-connection.ts';
import { orderInput, SortOrder } from '../../gateway/graphql/sort-order.ts';
import { requireRootAdmin, requireSignedIn } from '../../platform/auth/viewer.ts';
import { OutOfSight } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, type PageArguments } from '../../platform/paging.ts';
import { usersBy, whereOf } from './user-list.ts';

export const SignInProvider = builder.enumType('SignInProvider', {
  description: 'An external provider at which users sign in.',
  values: {
    SSO: { value: 'sso', description: 'The OpenID provider.' },
    LDAP: { value: 'ldap', description: 'The LDAP directory.' },
  } as const,
});

const USER_ID = 'Id of the user: `usr_…`.';
/** For inputs that select a user. */
export const USER_EMAIL = 'E-mail address of an existing user. Upper and lower case are equal.';

export const User = builder.prismaObject('User', {
  description: 'A user account.',
  interfaces: [Node],
  select: { id: true },
  fields: (t) => ({
    email: t.exposeString('email', { description: 'E-mail address in lower case; the log-in name.' }),
    name: t.exposeString('name', { description: 'Display name of the user: 1 to 200 characters.' }),
    isRootAdmin: t.exposeBoolean('isRoot', {
      description: 'Whether the user may do everything and has the role ADMIN in every project.',
    }),
    isVerified: t.exposeBoolean('verified', { description: 'Whether the e-mail address is verified.' }),
    createdAt: t.expose('createdAt', { description: 'Time at which the account was created.', type: 'DateTime' }),
  }),
});

findsNode('user', async (id, { db, viewer }) => {
  const user = await db.user.findUnique({ where: { id } });
  if (user !== null && !viewer?.isRootAdmin && viewer?.id !== id) throw new OutOfSight('user', id);
  return user;
});

/** For fields of a user that only the user and root administrators may read. */
export const ofSelf = {
  authScopes: ({ id }: { readonly id: string }, _args: unknown, { viewer }: RequestContext) => {
    const known = requireSignedIn(viewer);
    if (known.id !== id) requireRootAdmin(known);
    return true;
  },
  ...requires('PERSON'),
};

/** Fields that only root administrators may read. A user may also read the own `ssoType`. */
builder.prismaObjectFields(User, (t) => ({
  ssoType: t.field({
    description:
      'External provider at which the user signs in, or null for a local password. For the user and root administrators.',
    type: SignInProvider,
    nullable: true,
    ...ofSelf,
    select: { ssoType: true },
    resolve: ({ ssoType }) => ssoType as 'ldap' | 'sso' | null,
  }),
  isRemovable: t.boolean({
    description:
      'Whether the account and its root administration can be removed. False for the last root administrator who can sign in and, with LOCAL_LOGIN=off, for the emergency administrator.',
    nullable: true,
    ...rootAdmin,
    select: { email: true, isRoot: true, passwordHash: true, ssoType: true },
    resolve: (user, _args, { services }) => services.users.isRemovable(user),
  }),
  projectCount: t.int({
    description: 'Number of projects that the user owns.',
    nullable: true,
    ...rootAdmin,
    select: { _count: { select: { projects: true } } },
    resolve: ({ _count }) => _count.projects,
  }),
  brokerCount: t.int({
    description: 'Number of brokers in the projects that the user owns.',
    nullable: true,
    ...rootAdmin,
    select: { projects: { select: { _count: { select: { brokers: true } } } } },
    resolve: ({ projects }) => projects.reduce((sum, { _count }) => sum + _count.brokers, 0),
  }),
}));

export const userPayload = payloadsWith<{ readonly userId: string }>({
  description: 'The user whose account the mutation created or changed.',
  fields: (t) => ({
    user: t.prismaField({
      description: 'The account after the change.',
      type: 'User',
      resolve: (query, { userId }, _args, { db }) => db.user.findUniqueOrThrow({ ...query, where: { id: userId } }),
    }),
  }),
});

const UserSortField = describedEnum('UserSortField', 'Sort field of a list of users.', {
  CREATED_AT: 'Time of creation.',
  NAME: 'Name, in the collation of the database.',
  EMAIL: 'E-mail address.',
});

const UserOrder = orderInput('UserOrder', UserSortField);
const BY_CREATION = { field: 'CREATED_AT', order: 'asc' } as const;

const UserFilterInput = builder.inputType('UserFilter', {
  description: 'Users that match all given conditions.',
  fields: (t) => ({
    text: t.string({ description: 'Part of the e-mail address (ignoring case) or of the name (exact case).' }),
    isRootAdmin: t.boolean({ description: 'Only root administrators, or only the others.' }),
    isVerified: t.boolean({ description: 'Only users with a verified address, or only the others.' }),
  }),
});

builder.queryFields((t) => ({
  user: t.prismaField({
    description: 'A user, or null if the id is unknown.',
    type: 'User',
    nullable: true,
    ...rootAdmin,
    args: { id: t.arg.id({ description: USER_ID, required: true }) },
    resolve: (query, _root, { id }, { db }) => db.user.findUnique({ ...query, where: { id } }),
  }),
  users: t.connection(
    {
      description: 'All users.',
      type: User,
      complexity: pageCost,
      ...rootAdmin,
      args: {
        filter: t.arg({ type: UserFilterInput, description: 'Default: all users.' }),
        orderBy: t.arg({ type: UserOrder, description: 'Default: in order of creation.' }),
        offset: t.arg.int({ description: 'Number of entries to skip at the start (after `after`).' }),
      },
      resolve: async (_root, args, context, info) => {
        const { db } = context;
        const list = usersBy(args.orderBy ?? BY_CREATION);
        checkedPage(args);
        const found = await whereOf(db, args.filter ?? {});
        return rowConnection(list, args, context, info, {
          find: ({ where, ...query }) => db.user.findMany({ ...query, where: { AND: [found, where] } }),
          count: () => db.user.count({ where: found }),
        });
      },
    },
    {
      name: 'UserConnection',
      description: 'A page of users.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', {
          description: 'Number of users that match the filter, on all pages.',
        }),
        restPage: connection.int({
          description: 'Internal: for the REST interface. Number of previous pages of this size.',
          resolve: ({ args: { offset }, args }: UserPage) => Math.floor((offset ?? 0) / Math.max(sizeOf(args), 1)),
        }),
        restPageSize: connection.int({
          description: 'Internal: for the REST interface. Requested maximum number of entries.',
          resolve: ({ args }: UserPage) => sizeOf(args),
        }),
        restSortField: connection.field({
          description: 'Internal: for the REST interface.',
          type: UserSortField,
          resolve: ({ args }: UserPage) => (args.orderBy ?? BY_CREATION).field,
        }),
        restSortOrder: connection.field({
          description: 'Internal: for the REST interface.',
          type: SortOrder,
          resolve: ({ args }: UserPage) => (args.orderBy ?? BY_CREATION).order,
        }),
      }),
    },
    { name: 'UserEdge' },
  ),
}));

interface UserPage {
  readonly args: PageArguments & { readonly orderBy?: typeof UserOrder.$inferInput | null | undefined };
}

const sizeOf = ({ first, last }: PageArguments): number => first ?? last ?? DEFAULT_PAGE;
