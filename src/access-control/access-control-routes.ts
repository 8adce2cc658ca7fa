import { type AnyRoute, enumName, type RouteInput, type Spelling } from '../rest/route.ts';
import { FILTER_MODES } from '../rest/schemas.ts';
import {
  ACCESS_CLIENT_CHANGE,
  ACCESS_CLIENT_ENABLE,
  ACCESS_CLIENTS,
  ACCESS_CLIENTS_QUERY,
  ACCESS_GROUP_CHANGE,
  ACCESS_GROUPS,
  ACCESS_GROUPS_QUERY,
  ACCESS_ROLE_CHANGE,
  ACCESS_ROLES,
  ACCESS_ROLES_QUERY,
  ACL_SPELLING,
  CLIENT_TARGETS,
  DEFAULT_ACL,
  DEFAULT_ACL_CHANGE,
  DEFAULT_ACL_SPELLING,
  GROUP_TARGETS,
  GROUPNAME_QUERY,
  NEW_ACCESS_CLIENT,
  NEW_ACCESS_GROUP,
  NEW_ACCESS_ROLE,
  ROLE_TARGETS,
  ROLENAME_QUERY,
  USERNAME_QUERY,
} from './access-control-bodies.ts';

const list = (field: string, args: string, entry: string, [more, given]: readonly [string, string] = ['', '']) => `
query ($projectId: ID!, $brokerId: ID!, $first: Int, $after: String, $offset: Int, $filter: ${args}${more}) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      ${field}(first: $first, after: $after, offset: $offset, filter: $filter${given}) {
        totalCount
        nodes { ${entry} }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

const CLIENTS = list(
  'accessClients',
  'AccessClientFilter',
  `username
   clientid: clientId
   textname: textName
   textdescription: textDescription
   roles { rolename }
   groups { groupname }
   connections { address }`,
  [', $username: String', ', username: $username'],
);
const GROUPS = list(
  'accessGroups',
  'AccessGroupFilter',
  `groupname textname: textName textdescription: textDescription clients: members { username } roles { rolename }`,
);
const ROLES = list(
  'accessRoles',
  'AccessRoleFilter',
  `rolename
   textname: textName
   textdescription: textDescription
   allowwildcardsubs: allowWildcardSubs
   acls { acltype: aclType topic priority allow }`,
);
const DEFAULTS = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { defaultAcl { acls { acltype: aclType allow } } } }
}`;

const mutation = (field: string) =>
  `mutation ($input: ${field.charAt(0).toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { outcome } }`;

/** What every change is made with: done, or an error. */
const target = ({ params }: RouteInput) => ({ ...params, mustApply: true });

/** Texts are cleared by null; lists and passwords stay as they are. */
const kept = (value: unknown) => value ?? undefined;

const texts = ({ body: { textname, textdescription } }: RouteInput) => ({
  textName: textname,
  textDescription: textdescription,
});

const clientInput = (input: RouteInput) => {
  const { username, password, clientid, groups, roles } = input.body;
  return {
    input: {
      ...target(input),
      username,
      password: kept(password),
      clientId: clientid,
      ...texts(input),
      groups: kept(groups),
      roles,
    },
  };
};

const groupInput = (input: RouteInput) => {
  const { groupname, clients, roles } = input.body;
  return { input: { ...target(input), groupname, ...texts(input), clients: kept(clients), roles: kept(roles) } };
};

const roleInput = (input: RouteInput) => {
  const { rolename, allowwildcardsubs, acls } = input.body;
  const rules = acls as readonly { readonly acltype: string }[] | null | undefined;
  return {
    input: {
      ...target(input),
      rolename,
      ...texts(input),
      allowWildcardSubs: kept(allowwildcardsubs),
      acls: kept(rules?.map(({ acltype, ...rule }) => ({ ...rule, aclType: enumName(ACL_SPELLING, acltype) }))),
    },
  };
};

const defaultAclInput = (input: RouteInput) => {
  const entries = input.list as readonly { readonly acltype: string; readonly allow: boolean }[];
  return { input: { ...target(input), ...Object.fromEntries(entries.map(({ acltype, allow }) => [acltype, allow])) } };
};

const wantsAll = ({ query }: RouteInput) =>
  query.username === undefined && (query.count === undefined || query.count === -1);

const page = (targets: Spelling, pageSize: number) => (input: RouteInput) => {
  const { offset, count, filterValue, filterMode, filterTarget, username } = input.query;
  return {
    ...input.params,
    first: wantsAll(input) || username !== undefined ? pageSize : count,
    offset,
    username,
    filter:
      filterValue === undefined || filterValue === ''
        ? undefined
        : { value: filterValue, mode: enumName(FILTER_MODES, filterMode), target: enumName(targets, filterTarget) },
  };
};

const CLIENT_PAGE = 1_000;
/** A group tells all of its members. */
const GROUP_PAGE = 100;

const BROKER = '/api/projects/{projectId}/brokers/{brokerId}';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const ERRORS = [400, ...READ_ERRORS] as const;
const TAGS = ['Access control'] as const;
const COMMON = { role: 'VIEWER', tags: TAGS, since: '3.3' } as const;
const DOCUMENTED = { ...COMMON, section: '4.7' } as const;
const DONE = { status: 204, errors: ERRORS } as const;
const UNSURE =
  'Answers when the broker has done it. 503 with `info.outcome` UNKNOWN means that the answer was lost and could not be read back.';

export const accessControlRoutes: readonly AnyRoute[] = [
  {
    method: 'GET',
    path: `${BROKER}/acldefault`,
    ...DOCUMENTED,
    summary: 'Read the default ACL',
    operation: DEFAULTS,
    variables: ({ params }) => params,
    pick: 'project.broker.defaultAcl',
    spell: { DefaultAclType: DEFAULT_ACL_SPELLING },
    response: DEFAULT_ACL,
    errors: READ_ERRORS,
  },
  {
    method: 'PUT',
    path: `${BROKER}/acldefault`,
    ...DOCUMENTED,
    summary: 'Change the default ACL',
    description: UNSURE,
    body: DEFAULT_ACL_CHANGE,
    operation: mutation('setDefaultAcl'),
    variables: defaultAclInput,
    ...DONE,
  },
  {
    method: 'GET',
    path: `${BROKER}/clients`,
    ...DOCUMENTED,
    summary: 'List the clients of the access control',
    description: 'Accounts in order of their user names.',
    query: ACCESS_CLIENTS_QUERY,
    operation: CLIENTS,
    variables: page(CLIENT_TARGETS, CLIENT_PAGE),
    pick: 'project.broker.accessClients.nodes',
    total: 'project.broker.accessClients.totalCount',
    omitNull: ['*', 'connections.*'],
    nameKey: 'username',
    singleBy: 'username',
    stream: { when: wantsAll, pageInfo: 'project.broker.accessClients.pageInfo', pageSize: CLIENT_PAGE },
    response: ACCESS_CLIENTS,
    errors: READ_ERRORS,
  },
  {
    method: 'POST',
    path: `${BROKER}/clients`,
    ...DOCUMENTED,
    summary: 'Create a client',
    description: UNSURE,
    body: NEW_ACCESS_CLIENT,
    operation: mutation('createAccessClient'),
    variables: clientInput,
    ...DONE,
  },
  {
    method: 'PUT',
    path: `${BROKER}/clients`,
    ...DOCUMENTED,
    summary: 'Change a client',
    description: UNSURE,
    body: ACCESS_CLIENT_CHANGE,
    operation: mutation('updateAccessClient'),
    variables: clientInput,
    ...DONE,
  },
  {
    method: 'DELETE',
    path: `${BROKER}/clients`,
    ...DOCUMENTED,
    summary: 'Delete a client',
    description: UNSURE,
    query: USERNAME_QUERY,
    operation: mutation('deleteAccessClient'),
    variables: (input) => ({ input: { ...target(input), username: input.query.username } }),
    ...DONE,
  },
  {
    method: 'PUT',
    path: `${BROKER}/clients/enable`,
    ...DOCUMENTED,
    summary: 'Enable or disable a client',
    description: UNSURE,
    body: ACCESS_CLIENT_ENABLE,
    operation: mutation('setAccessClientEnabled'),
    variables: (input) => ({
      input: { ...target(input), username: input.body.username, enabled: input.body.enable },
    }),
    ...DONE,
  },
  {
    method: 'GET',
    path: `${BROKER}/groups`,
    ...DOCUMENTED,
    summary: 'List the groups of the access control',
    query: ACCESS_GROUPS_QUERY,
    operation: GROUPS,
    variables: page(GROUP_TARGETS, GROUP_PAGE),
    pick: 'project.broker.accessGroups.nodes',
    total: 'project.broker.accessGroups.totalCount',
    omitNull: ['*'],
    nameKey: 'groupname',
    stream: { when: wantsAll, pageInfo: 'project.broker.accessGroups.pageInfo', pageSize: GROUP_PAGE },
    response: ACCESS_GROUPS,
    errors: READ_ERRORS,
  },
  {
    method: 'POST',
    path: `${BROKER}/groups`,
    ...DOCUMENTED,
    summary: 'Create a group',
    description: UNSURE,
    body: NEW_ACCESS_GROUP,
    operation: mutation('createAccessGroup'),
    variables: groupInput,
    ...DONE,
  },
  {
    method: 'PUT',
    path: `${BROKER}/groups`,
    ...DOCUMENTED,
    summary: 'Change a group',
    description: UNSURE,
    body: ACCESS_GROUP_CHANGE,
    operation: mutation('updateAccessGroup'),
    variables: groupInput,
    ...DONE,
  },
  {
    method: 'DELETE',
    path: `${BROKER}/groups`,
    ...COMMON,
    summary: 'Delete a group',
    description: UNSURE,
    query: GROUPNAME_QUERY,
    operation: mutation('deleteAccessGroup'),
    variables: (input) => ({ input: { ...target(input), groupname: input.query.groupname } }),
    ...DONE,
  },
  {
    method: 'GET',
    path: `${BROKER}/roles`,
    ...COMMON,
    summary: 'List the roles of the access control',
    query: ACCESS_ROLES_QUERY,
    operation: ROLES,
    variables: page(ROLE_TARGETS, CLIENT_PAGE),
    pick: 'project.broker.accessRoles.nodes',
    total: 'project.broker.accessRoles.totalCount',
    omitNull: ['*'],
    spell: { AclType: ACL_SPELLING },
    nameKey: 'rolename',
    stream: { when: wantsAll, pageInfo: 'project.broker.accessRoles.pageInfo', pageSize: CLIENT_PAGE },
    response: ACCESS_ROLES,
    errors: READ_ERRORS,
  },
  {
    method: 'POST',
    path: `${BROKER}/roles`,
    ...COMMON,
    summary: 'Create a role',
    description: UNSURE,
    body: NEW_ACCESS_ROLE,
    operation: mutation('createAccessRole'),
    variables: roleInput,
    ...DONE,
  },
  {
    method: 'PUT',
    path: `${BROKER}/roles`,
    ...COMMON,
    summary: 'Change a role',
    description: UNSURE,
    body: ACCESS_ROLE_CHANGE,
    operation: mutation('updateAccessRole'),
    variables: roleInput,
    ...DONE,
  },
  {
    method: 'DELETE',
    path: `${BROKER}/roles`,
    ...COMMON,
    summary: 'Delete a role',
    description: UNSURE,
    query: ROLENAME_QUERY,
    operation: mutation('deleteAccessRole'),
    variables: (input) => ({ input: { ...target(input), rolename: input.query.rolename } }),
    ...DONE,
  },
];
