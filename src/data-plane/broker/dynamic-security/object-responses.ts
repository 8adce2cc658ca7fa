import {
  type AccessGroup,
  type AccessRole,
  type Account,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';

export function clientResponse(client: Account, addresses: (username: string) => readonly string[]): object {
  const { username, clientId, disabled, roles, groups } = client;
  return {
    username,
    ...(clientId === null ? {} : { clientid: clientId }),
    ...textFields(client),
    ...(disabled ? { disabled } : {}),
    roles: roles.map(roleMembership),
    groups: groups.map((membership) => ({ groupname: membership.name, ...priorityField(membership) })),
    connections: addresses(username).map((address) => ({ address })),
  };
}

export function groupResponse(group: AccessGroup, members: readonly string[]): object {
  return {
    groupname: group.groupname,
    ...textFields(group),
    clients: members.map((username) => ({ username })),
    roles: group.roles.map(roleMembership),
  };
}

export function roleResponse(role: AccessRole): object {
  return {
    rolename: role.rolename,
    ...textFields(role),
    allowwildcardsubs: role.allowWildcardSubs ?? true,
    acls: role.acls.map(({ aclType, topic, priority, allow }) => ({ acltype: aclType, topic, priority, allow })),
  };
}

function textFields({ textName, textDescription }: Pick<Account, 'textName' | 'textDescription'>): object {
  return {
    ...(textName === null ? {} : { textname: textName }),
    ...(textDescription === null ? {} : { textdescription: textDescription }),
  };
}

const roleMembership = (membership: Membership): object => ({
  rolename: membership.name,
  ...priorityField(membership),
});

const priorityField = ({ priority }: Membership): object =>
  priority === DEFAULT_MEMBERSHIP_PRIORITY ? {} : { priority };
