import type {
  AccessClient,
  AccessGroup,
  AccessRole,
  Membership,
} from '../../../domains/access-control/policy/access-model.ts';
import { DEFAULT_MEMBERSHIP_PRIORITY } from '../../../domains/access-control/policy/access-model.ts';

/** How objects are answered: what is absent is left out, and so are `disabled` when false and a priority that nobody gave. */
export function clientResponse(client: AccessClient, addresses: readonly string[]): object {
  const { username, clientId, disabled, roles, groups } = client;
  return {
    username,
    ...(clientId === null ? {} : { clientid: clientId }),
    ...textAnswer(client),
    ...(disabled ? { disabled } : {}),
    roles: roles.map(roleMembershipAnswer),
    groups: groups.map((membership) => ({ groupname: membership.name, ...priorityAnswer(membership) })),
    connections: addresses.map((address) => ({ address })),
  };
}

export function groupResponse(group: AccessGroup, members: readonly string[]): object {
  return {
    groupname: group.groupname,
    ...textAnswer(group),
    clients: members.map((username) => ({ username })),
    roles: group.roles.map(roleMembershipAnswer),
  };
}

export function roleResponse(role: AccessRole): object {
  return {
    rolename: role.rolename,
    ...textAnswer(role),
    allowwildcardsubs: role.allowWildcardSubs ?? true,
    acls: role.acls.map(({ aclType, topic, priority, allow }) => ({ acltype: aclType, topic, priority, allow })),
  };
}

function textAnswer({ textName, textDescription }: Pick<AccessClient, 'textName' | 'textDescription'>): object {
  return {
    ...(textName === null ? {} : { textname: textName }),
    ...(textDescription === null ? {} : { textdescription: textDescription }),
  };
}

const roleMembershipAnswer = (membership: Membership): object => ({
  rolename: membership.name,
  ...priorityAnswer(membership),
});

const priorityAnswer = ({ priority }: Membership): object =>
  priority === DEFAULT_MEMBERSHIP_PRIORITY ? {} : { priority };
