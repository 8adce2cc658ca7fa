import { enumName, type RouteInput, type Spelling } from '../../gateway/rest/route.ts';
import { FILTER_MODES } from '../../gateway/rest/schemas.ts';
import { capitalized } from '../../platform/text/capitalized.ts';
import { ACL_SPELLING } from './access-control-bodies.ts';

const list = (field: string, filter: string, entry: string) => `
query ($projectId: ID!, $brokerId: ID!, $first: Int, $after: String, $offset: Int, $filter: ${filter}) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      ${field}(first: $first, after: $after, offset: $offset, filter: $filter) {
        totalCount
        nodes { ${entry} }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

export const ACCOUNTS = list(
  'accounts',
  'AccountFilter',
  `username
   clientid: clientId
   textname: textName
   textdescription: textDescription
   roles { rolename: roleName }
   groups { groupname: groupName }
   connections { address }`,
);
export const GROUPS = list(
  'accessGroups',
  'AccessGroupFilter',
  `groupname: groupName
   textname: textName
   textdescription: textDescription
   clients: members { username }
   roles { rolename: roleName }`,
);
export const ROLES = list(
  'accessRoles',
  'AccessRoleFilter',
  `rolename: roleName
   textname: textName
   textdescription: textDescription
   allowwildcardsubs: allowWildcardSubs
   acls { acltype: aclType topic priority allow }`,
);
export const DEFAULTS = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { defaultAcl { acls: restAcls { acltype: aclType allow } } } }
}`;

export const mutation = (field: string) =>
  `mutation ($input: ${capitalized(field)}Input!) { ${field}(input: $input) { outcome } }`;

/** REST has no partial success, so all changes use `mustApply`. */
export const changeVariables = ({ params }: RouteInput, change: object) => ({
  input: { ...params, mustApply: true, change },
});

/** In REST, null clears texts but leaves lists and passwords unchanged. */
const unlessNull = (value: unknown) => value ?? undefined;

const texts = ({ body: { textname, textdescription } }: RouteInput) => ({
  textName: textname,
  textDescription: textdescription,
});

type References<Key extends string> = readonly Readonly<Record<Key, string>>[] | null | undefined;

const roleReferences = (roles: unknown) =>
  (roles as References<'rolename'>)?.map(({ rolename }) => ({ roleName: rolename }));
const groupReferences = (groups: unknown) =>
  (groups as References<'groupname'>)?.map(({ groupname }) => ({ groupName: groupname }));

export const accountInput = (input: RouteInput) => {
  const { username, password, clientid, groups, roles } = input.body;
  return changeVariables(input, {
    username,
    password: unlessNull(password),
    clientId: clientid,
    ...texts(input),
    groups: unlessNull(groupReferences(groups)),
    roles: roleReferences(roles),
  });
};

export const groupInput = (input: RouteInput) => {
  const { groupname, clients, roles } = input.body;
  return changeVariables(input, {
    groupName: groupname,
    ...texts(input),
    members: unlessNull(clients),
    roles: unlessNull(roleReferences(roles)),
  });
};

export const roleInput = (input: RouteInput) => {
  const { rolename, allowwildcardsubs, acls } = input.body;
  const rules = acls as readonly { readonly acltype: string }[] | null | undefined;
  return changeVariables(input, {
    roleName: rolename,
    ...texts(input),
    allowWildcardSubs: unlessNull(allowwildcardsubs),
    acls: unlessNull(rules?.map(({ acltype, ...rule }) => ({ ...rule, aclType: enumName(ACL_SPELLING, acltype) }))),
  });
};

export const defaultAclInput = (input: RouteInput) => {
  const entries = input.list as readonly { readonly acltype: string; readonly allow: boolean }[];
  return changeVariables(input, Object.fromEntries(entries.map(({ acltype, allow }) => [acltype, allow])));
};

export const wantsAll = ({ query }: RouteInput) =>
  query.username === undefined && (query.count === undefined || query.count === -1);

export const page = (targets: Spelling, pageSize: number) => (input: RouteInput) => {
  const { offset, count, filterValue, filterMode, filterTarget, username } = input.query;
  if (username !== undefined) {
    return { ...input.params, first: 1, filter: { value: username, mode: 'EQUALS', target: 'USERNAME' } };
  }
  return {
    ...input.params,
    first: wantsAll(input) ? pageSize : count,
    offset,
    filter:
      filterValue === undefined || filterValue === ''
        ? undefined
        : { value: filterValue, mode: enumName(FILTER_MODES, filterMode), target: enumName(targets, filterTarget) },
  };
};
