import { enumName, type Route, type RouteInput } from '../../gateway/rest/route.ts';
import { CREATED_ID } from '../../gateway/rest/schemas.ts';
import { constant } from '../../gateway/rest/values.ts';
import {
  ADMIN_QUERY,
  ADMINS,
  ADMINS_QUERY,
  NEW_USER,
  REMOVAL_QUERY,
  SORT_ORDERS,
  SSO_TYPES,
  USER,
  USER_SORT_FIELDS,
  USERS,
  USERS_QUERY,
} from './user-bodies.ts';

const USER_FIELDS = `id name email created_at: createdAt trial_flow: __typename project_count: projectCount
  broker_count: brokerCount monthly_revenue: __typename yearly_revenue: __typename total_revenue: __typename
  onboarding: __typename bookings: __typename`;

/** This service has no sales, so these values are constant and correct. */
const NO_SALES = {
  trial_flow: constant(false),
  monthly_revenue: constant(0),
  yearly_revenue: constant(0),
  total_revenue: constant(0),
  onboarding: constant(0),
  bookings: constant(null),
};
const NO_SALES_IN_LIST = Object.fromEntries(Object.entries(NO_SALES).map(([key, value]) => [`data.${key}`, value]));

const LIST = `query ($first: Int!, $offset: Int!, $orderBy: UserOrder!) {
  users(first: $first, offset: $offset, orderBy: $orderBy) {
    total: totalCount
    page: restPage
    pageSize: restPageSize
    sortField: restSortField
    sortOrder: restSortOrder
    data: nodes { ${USER_FIELDS} }
  }
}`;

const READ = `query ($userId: ID!) { user(id: $userId) { ${USER_FIELDS} } }`;
const CREATE = 'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id } } }';
const DELETE = 'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { deletedUserId } }';

const LIST_ADMINS = `query ($first: Int!, $offset: Int!) {
  users(first: $first, offset: $offset, filter: { isRootAdmin: true }) {
    total: totalCount
    roots: nodes { id name email isRemovable }
  }
}`;

const SET_ADMIN = 'mutation ($input: SetRootAdminInput!) { setRootAdmin(input: $input) { user { id } } }';

const pageOf = ({ query }: RouteInput) => ({
  first: query.pageSize,
  offset: Number(query.page) * Number(query.pageSize),
});

const PATH = '/api/users';
const USER_PATH = `${PATH}/{userId}`;
const ADMINS_PATH = `${PATH}/admins`;
const DOCUMENTED = { section: '4.11', tag: 'Users', since: '3.3' } as const;

export const userRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: ADMINS_PATH,
    ...DOCUMENTED,
    operationId: 'listRootAdmins',
    summary: 'List the root administrators',
    keywords: 'superusers',
    query: ADMINS_QUERY,
    operation: LIST_ADMINS,
    variables: pageOf,
    pick: 'users',
    total: 'users.total',
    response: ADMINS,
    errors: [400, 401, 403, 404, 500],
  },
  {
    method: 'PUT',
    path: ADMINS_PATH,
    ...DOCUMENTED,
    operationId: 'addRootAdmin',
    summary: 'Make a user root administrator',
    keywords: 'promote grant superuser',
    description: 'Has no effect on root administrators. An unknown address is refused with 400.',
    query: ADMIN_QUERY,
    operation: SET_ADMIN,
    variables: ({ query }) => ({ input: { ...query, isRootAdmin: true } }),
    status: 204,
    errors: [400, 401, 403, 500],
  },
  {
    method: 'DELETE',
    path: ADMINS_PATH,
    ...DOCUMENTED,
    operationId: 'removeRootAdmin',
    summary: 'Revoke root administration of a user',
    keywords: 'demote remove superuser',
    description:
      'Has no effect on other users. An unknown address is refused with 400, and so is the last root administrator who can sign in (LAST_ADMINISTRATOR).',
    query: ADMIN_QUERY,
    operation: SET_ADMIN,
    variables: ({ query }) => ({ input: { ...query, isRootAdmin: false } }),
    status: 204,
    errors: [400, 401, 403, 500],
  },
  {
    method: 'GET',
    path: PATH,
    ...DOCUMENTED,
    operationId: 'listUsers',
    summary: 'List the users',
    keywords: 'people members',
    query: USERS_QUERY,
    operation: LIST,
    variables: (input) => ({
      ...pageOf(input),
      orderBy: {
        field: enumName(USER_SORT_FIELDS, input.query.sortField),
        order: enumName(SORT_ORDERS, input.query.sortOrder),
      },
    }),
    pick: 'users',
    total: 'users.total',
    values: NO_SALES_IN_LIST,
    spell: { UserSortField: USER_SORT_FIELDS, SortOrder: SORT_ORDERS },
    response: USERS,
    errors: [400, 401, 403, 500],
  },
  {
    method: 'POST',
    path: PATH,
    ...DOCUMENTED,
    operationId: 'createUser',
    summary: 'Create a user',
    keywords: 'add invite person',
    description: 'Returns the id of the user. An address in use is refused with 400 ALREADY_EXISTS.',
    body: NEW_USER,
    operation: CREATE,
    inputNames: { isVerified: 'verified' },
    variables: ({ body: { firstname, lastname, ssoType, verified, ...body } }) => ({
      input: {
        ...body,
        firstName: firstname,
        lastName: lastname,
        isVerified: verified,
        ssoType: enumName(SSO_TYPES, ssoType),
      },
    }),
    pick: 'createUser.user',
    response: CREATED_ID,
    errors: [400, 401, 403, 500],
  },
  {
    method: 'GET',
    path: USER_PATH,
    ...DOCUMENTED,
    operationId: 'getUser',
    summary: 'Read a user',
    keywords: 'get person',
    operation: READ,
    pick: 'user',
    values: NO_SALES,
    notFound: ({ params }) => `There is no user "${params.userId}"`,
    response: USER,
    errors: [401, 403, 404, 500],
  },
  {
    method: 'DELETE',
    path: USER_PATH,
    ...DOCUMENTED,
    operationId: 'deleteUser',
    summary: 'Delete a user',
    keywords: 'remove person',
    description:
      'An owner of projects and the last owner of an organization are deleted only with `handOverTo` (otherwise 400 IN_USE). The last root administrator who can sign in is not deleted (400 LAST_ADMINISTRATOR).',
    query: REMOVAL_QUERY,
    operation: DELETE,
    variables: ({ params, query }) => ({ input: { ...params, ...query } }),
    status: 204,
    errors: [400, 401, 403, 404, 500],
  },
];
