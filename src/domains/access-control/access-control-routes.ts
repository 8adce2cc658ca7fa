import type { Route } from '../../gateway/rest/route.ts';
import {
  ACCESS_CLIENT_ENABLE,
  ACL_SPELLING,
  CLIENT_BODIES,
  CLIENT_TARGETS,
  DEFAULT_ACL,
  DEFAULT_ACL_CHANGE,
  DEFAULT_ACL_SPELLING,
  GROUP_BODIES,
  GROUP_TARGETS,
  ROLE_BODIES,
  ROLE_TARGETS,
} from './access-control-bodies.ts';
import {
  ACCOUNTS,
  accountInput,
  changeVariables,
  DEFAULTS,
  defaultAclInput,
  GROUPS,
  groupInput,
  mutation,
  page,
  ROLES,
  roleInput,
  wantsAll,
} from './access-control-operations.ts';

const BROKER = '/api/projects/{projectId}/brokers/{brokerId}';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const COMMON = { tag: 'Access control', since: '3.3' } as const;
const DOCUMENTED = { ...COMMON, section: '4.7' } as const;
const AFTER_WRITE =
  'Responds after the broker has executed the change. 503 with `info.outcome` UNKNOWN: the response of the broker was lost, and the result could not be read back.';
const WRITE = { description: AFTER_WRITE, status: 204, inputKey: 'change', errors: [400, ...READ_ERRORS] } as const;

interface ObjectRoutes {
  /** Last step of the path without "s", and the noun in texts. */
  readonly noun: 'client' | 'group' | 'role';
  /** Name in `operationId`. "Client" also means a connected client. */
  readonly name: 'Account' | 'Group' | 'Role';
  /** Name of the type in the graph. */
  readonly type: 'Account' | 'AccessGroup' | 'AccessRole';
  /** Words in `keywords` of each operation. */
  readonly keywords: string;
  readonly nameKey: string;
  /** The name of the same key in the graph. */
  readonly nameField: string;
  readonly common: typeof COMMON;
  readonly deletion: typeof COMMON;
  readonly bodies: typeof CLIENT_BODIES;
  readonly list: Pick<Route, 'operation' | 'description' | 'omitNull' | 'singleBy' | 'notFound' | 'spell'>;
  readonly targets: Parameters<typeof page>[0];
  readonly pageSize: number;
  readonly inputNames?: Route['inputNames'];
  readonly variables: NonNullable<Route['variables']>;
}

function objectRoutes(routes: ObjectRoutes): Route[] {
  const {
    noun,
    name,
    type,
    keywords,
    nameKey,
    nameField,
    common,
    deletion,
    bodies,
    list,
    targets,
    pageSize,
    variables,
    inputNames = {},
  } = routes;
  const path = `${BROKER}/${noun}s`;
  const connection = `project.broker.${type.charAt(0).toLowerCase()}${type.slice(1)}s`;
  return [
    {
      method: 'GET',
      path,
      ...common,
      operationId: `list${name}s`,
      summary: `List the ${noun}s of the access control`,
      keywords,
      query: bodies.query,
      omitNull: ['*'],
      ...list,
      variables: page(targets, pageSize),
      pick: `${connection}.nodes`,
      total: `${connection}.totalCount`,
      nameKey,
      stream: { when: wantsAll, pageInfo: `${connection}.pageInfo`, pageSize },
      response: bodies.list,
      errors: READ_ERRORS,
    },
    {
      method: 'POST',
      path,
      ...common,
      operationId: `create${name}`,
      summary: `Create a ${noun}`,
      keywords: `add ${keywords}`,
      body: bodies.created,
      operation: mutation(`create${type}`),
      variables,
      inputNames,
      ...WRITE,
    },
    {
      method: 'PUT',
      path,
      ...common,
      operationId: `update${name}`,
      summary: `Change a ${noun}`,
      keywords: `edit update ${keywords}`,
      body: bodies.changed,
      operation: mutation(`update${type}`),
      variables,
      inputNames,
      ...WRITE,
    },
    {
      method: 'DELETE',
      path,
      ...deletion,
      operationId: `delete${name}`,
      summary: `Delete a ${noun}`,
      keywords: `remove ${keywords}`,
      query: bodies.nameQuery,
      operation: mutation(`delete${type}`),
      variables: (input) => changeVariables(input, { [nameField]: input.query[nameKey] }),
      ...WRITE,
    },
  ];
}

export const accessControlRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${BROKER}/acldefault`,
    ...DOCUMENTED,
    operationId: 'getDefaultAcl',
    summary: 'Read the default ACL',
    keywords: 'permissions policy anonymous',
    operation: DEFAULTS,
    pick: 'project.broker.defaultAcl',
    spell: { DefaultAclType: DEFAULT_ACL_SPELLING },
    response: DEFAULT_ACL,
    errors: READ_ERRORS,
  },
  {
    method: 'PUT',
    path: `${BROKER}/acldefault`,
    ...DOCUMENTED,
    operationId: 'setDefaultAcl',
    summary: 'Change the default ACL',
    keywords: 'set permissions policy',
    body: DEFAULT_ACL_CHANGE,
    operation: mutation('setDefaultAcl'),
    variables: defaultAclInput,
    ...WRITE,
  },
  ...objectRoutes({
    noun: 'client',
    name: 'Account',
    type: 'Account',
    keywords: 'account user login credentials password',
    nameKey: 'username',
    nameField: 'username',
    common: DOCUMENTED,
    deletion: DOCUMENTED,
    bodies: CLIENT_BODIES,
    list: {
      description: 'The accounts, sorted by user name.',
      operation: ACCOUNTS,
      omitNull: ['*', 'connections.*'],
      singleBy: 'username',
      notFound: ({ query }) => `There is no client "${query.username}"`,
    },
    targets: CLIENT_TARGETS,
    pageSize: 1_000,
    variables: accountInput,
  }),
  {
    method: 'PUT',
    path: `${BROKER}/clients/enable`,
    ...DOCUMENTED,
    operationId: 'setAccountEnabled',
    summary: 'Enable or disable a client',
    keywords: 'account block ban lock suspend login',
    body: ACCESS_CLIENT_ENABLE,
    operation: mutation('setAccountEnabled'),
    variables: (input) => changeVariables(input, { username: input.body.username, enabled: input.body.enable }),
    ...WRITE,
  },
  ...objectRoutes({
    noun: 'group',
    name: 'Group',
    type: 'AccessGroup',
    keywords: 'team members',
    nameKey: 'groupname',
    nameField: 'groupName',
    common: DOCUMENTED,
    deletion: COMMON,
    bodies: GROUP_BODIES,
    list: { operation: GROUPS },
    targets: GROUP_TARGETS,
    // Groups list all their members, so their pages are shorter.
    pageSize: 100,
    inputNames: { members: 'clients' },
    variables: groupInput,
  }),
  ...objectRoutes({
    noun: 'role',
    name: 'Role',
    type: 'AccessRole',
    keywords: 'permissions acl policy rights rules',
    nameKey: 'rolename',
    nameField: 'roleName',
    common: COMMON,
    deletion: COMMON,
    bodies: ROLE_BODIES,
    list: { operation: ROLES, spell: { AclType: ACL_SPELLING } },
    targets: ROLE_TARGETS,
    pageSize: 1_000,
    variables: roleInput,
  }),
];
