import { enumName, type RouteInput, type Spelling } from '../../gateway/rest/route.ts';
import { FILTER_MODES } from '../../gateway/rest/schemas.ts';
import { ACL_SPELLING } from './access-control-bodies.ts';

const list = (kind: string, entry: string, more = '', given = '') => `
query ($projectId: ID!, $brokerId: ID!, $first: Int, $after: String, $offset: Int, $filter: Access${kind}Filter${more}) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      access${kind}s(first: $first, after: $after, offset: $offset, filter: $filter${given}) {
        totalCount
        nodes { ${entry} }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

export const CLIENTS = list(
  'Client',
  `username
   clientid: clientId
   textname: textName
   textdescription: textDescription
   roles { rolename }
   groups { groupname }
   connections { address }`,
  ', $username: String',
  ', username: $username',
);
export const GROUPS = list(
  'Group',
  `groupname textname: textName textdescription: textDescription clients: members { username } roles { rolename }`,
);
export const ROLES = list(
  'Role',
  `rolename
   textname: textName
   textdescription: textDescription
   allowwildcardsubs: allowWildcardSubs
   acls { acltype: aclType topic priority allow }`,
);
export const DEFAULTS = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { defaultAcl { acls { acltype: aclType allow } } } }
}`;

export const mutation = (field: string) =>
  `mutation ($input: ${field.charAt(0).toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { outcome } }`;

/** REST has no partial success, so all changes use `mustApply`. */
export const target = ({ params }: RouteInput) => ({ ...params, mustApply: true });

/** In REST, null clears texts but leaves lists and passwords unchanged. */
const unlessNull = (value: unknown) => value ?? undefined;

const texts = ({ body: { textname, textdescription } }: RouteInput) => ({
  textName: textname,
  textDescription: textdescription,
});

export const clientInput = (input: RouteInput) => {
  const { username, password, clientid, groups, roles } = input.body;
  return {
    input: {
      ...target(input),
      username,
      password: unlessNull(password),
      clientId: clientid,
      ...texts(input),
      groups: unlessNull(groups),
      roles,
    },
  };
};

export const groupInput = (input: RouteInput) => {
  const { groupname, clients, roles } = input.body;
  return {
    input: { ...target(input), groupname, ...texts(input), clients: unlessNull(clients), roles: unlessNull(roles) },
  };
};

export const roleInput = (input: RouteInput) => {
  const { rolename, allowwildcardsubs, acls } = input.body;
  const rules = acls as readonly { readonly acltype: string }[] | null | undefined;
  return {
    input: {
      ...target(input),
      rolename,
      ...texts(input),
      allowWildcardSubs: unlessNull(allowwildcardsubs),
      acls: unlessNull(rules?.map(({ acltype, ...rule }) => ({ ...rule, aclType: enumName(ACL_SPELLING, acltype) }))),
    },
  };
};

export const defaultAclInput = (input: RouteInput) => {
  const entries = input.list as readonly { readonly acltype: string; readonly allow: boolean }[];
  return { input: { ...target(input), ...Object.fromEntries(entries.map(({ acltype, allow }) => [acltype, allow])) } };
};

export const wantsAll = ({ query }: RouteInput) =>
  query.username === undefined && (query.count === undefined || query.count === -1);

export const page = (targets: Spelling, pageSize: number) => (input: RouteInput) => {
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
